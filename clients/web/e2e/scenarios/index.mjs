/** All scenarios, in the order in which they run. */
import { ACTING } from "./acting.mjs";
import { BIG } from "./big.mjs";
import { COMMENTING } from "./commenting.mjs";
import { HOSTILE } from "./hostile.mjs";
import { KEYBOARD } from "./keyboard.mjs";
import { LIVE } from "./live.mjs";
import { LOOKING } from "./looking.mjs";
import { PICTURES } from "./pictures.mjs";
import { REVIEWING } from "./reviewing.mjs";
import { STATE } from "./state.mjs";
import { TODAY } from "./today.mjs";

/**
 * @typedef {object} Scenario
 * @property {string} name For --only.
 * @property {import("../stage.mjs").Setting} [setting]
 * @property {(stage: import("../stage.mjs").Stage) => Promise<void>} run
 */

/** @type {readonly Scenario[]} */
export const SCENARIOS = [
  ...TODAY,
  ...LIVE,
  ...LOOKING,
  ...ACTING,
  ...REVIEWING,
  ...COMMENTING,
  ...KEYBOARD,
  ...STATE,
  ...HOSTILE,
  ...BIG,
  ...PICTURES,
];
