/** The field in which a search is typed. */
import type { JSX } from "preact";
import { goTo, route } from "../store/route";
import { Icon } from "./icons";

export function SearchBox(): JSX.Element {
  const text = route.value.page === "search" ? route.value.text : "";
  return (
    <form
      class="search-box"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const field = event.currentTarget.elements.namedItem("q");
        if (field instanceof HTMLInputElement && field.value.trim() !== "") goTo({ page: "search", text: field.value });
      }}
    >
      <Icon name="search" />
      <input
        id="search"
        name="q"
        type="search"
        placeholder="Search"
        aria-label="Search prompts, files and texts"
        defaultValue={text}
        key={text}
        autocomplete="off"
        spellcheck={false}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}
