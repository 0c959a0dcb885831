/** All scenarios, in the order in which they run. */
import { BLAMING } from "./blaming.mjs";
import { CLASHES } from "./clashes.mjs";
import { LOOKING } from "./looking.mjs";
import { STATE } from "./state.mjs";
import { FIRST_USE } from "./first-use.mjs";
import { RESTORING } from "./restoring.mjs";
import { REVERTING } from "./reverting.mjs";
import { REVIEWING } from "./reviewing.mjs";
import { COMMENTING } from "./commenting.mjs";
import { COMPARING } from "./comparing.mjs";
import { FOLDERS } from "./folders.mjs";
import { KEYBOARD } from "./keyboard.mjs";
import { PENDING } from "./pending.mjs";
import { PICTURES } from "./pictures.mjs";
import { STAGING } from "./staging.mjs";
import { START } from "./start.mjs";
import { TURNS } from "./turns.mjs";
import { UNDOING } from "./undoing.mjs";

/**
 * @typedef {object} Scenario
 * @property {string} name
 * @property {(stage: import("../stage.mjs").Stage) => Promise<void>} run
 * @property {import("../stage.mjs").Setting} [setting] It has a stage of its own; others share one.
 */

/** @type {Scenario[]} */
export const SCENARIOS = [
  ...FIRST_USE,
  ...LOOKING,
  ...COMPARING,
  ...UNDOING,
  ...TURNS,
  ...REVERTING,
  ...STAGING,
  ...REVIEWING,
  ...PENDING,
  ...COMMENTING,
  ...BLAMING,
  ...CLASHES,
  ...RESTORING,
  ...KEYBOARD,
  ...STATE,
  ...START,
  ...FOLDERS,
  ...PICTURES,
];
