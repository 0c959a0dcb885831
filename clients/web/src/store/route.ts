/** Where the page is. */
import { computed, signal } from "@preact/signals";
import { fragmentOf, isSame, parseRoute, type Route, type Shown } from "../model/route";

export const route = signal<Route>({ page: "today" });

/** What of the timeline is shown beside it. */
export const shown = computed<Shown | undefined>(() =>
  route.value.page === "timeline" ? route.value.shown : undefined,
);

/** Follows the address from now on. */
export function followAddress(): void {
  const look = () => {
    const next = parseRoute(location.hash);
    if (!isSame(next, route.value)) route.value = next;
  };
  addEventListener("hashchange", look);
  look();
}

/** Goes to a place; back leads here again. */
export function goTo(next: Route): void {
  if (isSame(next, route.value)) return;
  location.hash = fragmentOf(next);
}

/** Goes to a place that stands for this one: back does not lead here. */
export function replaceBy(next: Route): void {
  if (isSame(next, route.value)) return;
  history.replaceState(null, "", fragmentOf(next));
  route.value = next;
}
