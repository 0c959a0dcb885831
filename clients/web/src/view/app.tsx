/** The whole page. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { firstLine } from "../model/names";
import type { Route } from "../model/route";
import { stepName } from "../model/wording";
import { announcement } from "../store/place";
import { layout } from "../store/preferences";
import { goTo, route, shown } from "../store/route";
import { sessions } from "../store/sessions";
import { status } from "../store/status";
import { scope, steps } from "../store/timeline";
import { isLockedOut } from "../store/troubles";
import { Detail } from "./detail";
import { FilePage } from "./file-page";
import { Header } from "./header";
import { HelpDialog } from "./help-dialog";
import { useKeyboard, useKeys } from "./keyboard";
import { LockedOut } from "./locked-out";
import { Notes } from "./notes";
import { isHelpOpen } from "./overlays";
import { PlanDialog } from "./plan-dialog";
import { ReviewPage } from "./review-page";
import { SearchPage } from "./search-page";
import { Sidebar } from "./sidebar";
import { Timeline } from "./timeline";
import { TodayPage } from "./today-page";

export function App(): JSX.Element {
  useTitle();
  useKeyboard();
  usePageKeys();
  if (isLockedOut.value) return <LockedOut />;
  return (
    <div class="page" data-page={route.value.page} data-detail={hasDetail(route.value)}>
      <Header />
      <Sidebar />
      <main class="main">
        <Place here={route.value} />
      </main>
      <Notes />
      <PlanDialog />
      <HelpDialog />
      <p class="heard" role="status">
        {announcement.value}
      </p>
    </div>
  );
}

function Place({ here }: { readonly here: Route }): JSX.Element {
  switch (here.page) {
    case "today":
      return <TodayPage />;
    case "review":
      return <ReviewPage />;
    case "file":
      return <FilePage file={here.file} at={here.at} isBlamed={here.blame === true} />;
    case "search":
      return <SearchPage text={here.text} />;
    case "timeline":
      return (
        <>
          <Timeline />
          <Detail />
        </>
      );
  }
}

/** Whether there is something beside the list; in narrow windows, it takes the place of the list. */
function hasDetail(here: Route): boolean {
  if (here.page === "timeline") return here.shown !== undefined;
  if (here.page === "review") return here.file !== undefined;
  return here.page === "file";
}

function usePageKeys(): void {
  useKeys({
    help: () => (isHelpOpen.value = true),
    search: () => document.getElementById("search")?.focus(),
    today: () => goTo({ page: "today" }),
    all: () => goTo({ page: "timeline", scope: undefined }),
    review: () => goTo({ page: "review" }),
    layout: () => (layout.value = layout.value === "split" ? "unified" : "split"),
    leave: () => {
      const here = route.value;
      if (here.page === "today") return;
      if (here.page === "timeline") {
        goTo(here.shown === undefined ? { page: "today" } : { page: "timeline", scope: here.scope });
      } else if (here.page === "review" && here.file !== undefined) {
        goTo({ page: "review", ...(here.of === undefined ? {} : { of: here.of }) });
      } else goTo({ page: "timeline", scope: scope.value });
    },
  });
}

function useTitle(): void {
  const chosen = shown.value;
  const step = chosen?.what === "step" ? steps.value.get(chosen.stepId)?.step : undefined;
  const session = scope.value === undefined ? undefined : sessions.value?.get(scope.value);
  const root = status.value?.root ?? "";
  const place = step === undefined ? (session === undefined ? undefined : session.name) : stepName(step);
  const title = [place, firstLine(root.slice(root.lastIndexOf("/") + 1)), "snapd"].filter(Boolean).join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}
