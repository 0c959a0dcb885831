/** Keeps the page up to date with the folder. */
import { listen } from "../api/events";
import { address } from "../api/http";
import { loadComments } from "./comments";
import { forgetChanging } from "./diffs";
import { loadReview, setPendingCount } from "./review";
import { route } from "./route";
import { loadSessions, setSession } from "./sessions";
import { loadStatus } from "./status";
import { soon } from "./soon";
import { loadToday } from "./today";
import { refreshTop, reloadTimeline, setStep } from "./timeline";
import { isConnected } from "./troubles";

/** Milliseconds in which several notifications count as one: steps themselves are shown at once. */
const TOGETHER = 300;

const refresh = soon(TOGETHER, refreshTop);
const reload = soon(TOGETHER, reloadTimeline);
// the daemon tells when there is more or less of it; other changes of the same size are found by looking
const refreshReview = soon(TOGETHER, async () => {
  if (route.value.page === "review") await loadReview();
});

const refreshComments = soon(TOGETHER, loadComments);

// most of what happens changes a figure there
const refreshToday = soon(1000, async () => {
  if (route.value.page === "today") await loadToday();
});

/** Fetches everything, and follows the news from then on. */
export function goLive(): void {
  void loadStatus();
  void loadSessions();
  void loadReview();
  void loadComments();
  listen(address(["events"]), {
    opened(again) {
      isConnected.value = true;
      if (!again) return;
      void loadStatus();
      void loadSessions();
      void loadReview();
      void loadComments();
      forgetChanging();
      reload();
      refreshToday();
    },
    daemonLost() {
      void loadStatus();
    },
    broke() {
      isConnected.value = false;
      // shows whether another server, with another token, answers now
      void loadStatus();
    },
    received({ method, params }) {
      if (method !== "snapshot/didTrack") refreshToday();
      switch (method) {
        case "session/didChange":
          setSession(params.session);
          setStep(params.session, params.step);
          refresh();
          refreshReview();
          break;
        case "snapshot/didTrack":
          refresh();
          break;
        case "snapshot/didRevert":
          forgetChanging();
          refresh();
          refreshReview();
          refreshComments();
          break;
        case "snapshot/didChange":
          forgetChanging();
          refreshReview();
          refreshComments();
          break;
        case "review/didChange":
          setPendingCount(params);
          refreshReview();
          refreshComments();
          break;
      }
    },
  });
}
