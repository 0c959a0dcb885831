/** Starts the page. */
import { effect } from "@preact/signals";
import { render } from "preact";
import { bringToken } from "./api/login";
import { followAddress, route } from "./store/route";
import { loadReview } from "./store/review";
import { loadToday } from "./store/today";
import { goLive } from "./store/live";
import { followViewed } from "./store/viewed";
import { showAnyScope, showScope } from "./store/timeline";
import { noted } from "./store/troubles";
import { App } from "./view/app";
import "./style/app.css";

async function start(): Promise<void> {
  const place = document.getElementById("app");
  if (place === null) throw new Error("index.html has no element for the page");
  try {
    await bringToken();
  } catch (error) {
    noted(error);
  }
  followAddress();
  effect(() => {
    if (route.value.page === "timeline") showScope(route.value.scope);
    else showAnyScope();
    if (route.value.page === "review") void loadReview();
    if (route.value.page === "today") void loadToday();
  });
  followViewed();
  goLive();
  render(<App />, place);
}

void start();
