/** The field in which a search is typed: the answer comes while one types. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { goTo, replaceBy, route } from "../store/route";
import { Icon } from "./icons";

/** Milliseconds without a key after which the search begins. */
const PAUSE = 200;
/** Characters that the server takes. */
const LONGEST = 200;

export function SearchBox(): JSX.Element {
  const text = route.value.page === "search" ? route.value.text : "";
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const begin = () => {
    clearTimeout(timer.current);
    const typed = field.current?.value ?? "";
    if (route.value.page === "search") replaceBy({ page: "search", text: typed });
    else if (typed.trim() !== "") goTo({ page: "search", text: typed });
  };
  useEffect(() => {
    // the typed text is newer than the address
    if (field.current !== null && document.activeElement !== field.current) field.current.value = text;
  }, [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <form
      class="search-box"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        begin();
      }}
    >
      <Icon name="search" />
      <input
        id="search"
        name="q"
        type="search"
        ref={field}
        placeholder="Search"
        aria-label="Search prompts, files and texts"
        maxLength={LONGEST}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          clearTimeout(timer.current);
          if (!event.isComposing) timer.current = setTimeout(begin, PAUSE);
        }}
        onCompositionEnd={() => {
          timer.current = setTimeout(begin, PAUSE);
        }}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}
