/** Waiting for what cannot announce itself: a file on disk, a process, a text on a page. */
import { setTimeout as delay } from "node:timers/promises";

/** Milliseconds. What never comes takes so long to fail; a machine that is slow or busy fails nothing. */
export const PATIENCE = 60_000;

const EVERY = 50;
const STILL_FOR = 700;

/**
 * Waits until a condition holds.
 *
 * @template T
 * @param {string} what What is waited for, for the message.
 * @param {() => T | Promise<T>} condition Gives something true once it holds.
 * @returns {Promise<T>} What the condition gave.
 */
export async function until(what, condition) {
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    const value = await condition();
    if (value) {
      return value;
    }
    if (performance.now() > deadline) {
      throw new Error(`not within ${PATIENCE / 1000} s: ${what}`);
    }
    await delay(EVERY);
  }
}

/**
 * Whether an action of the browser with a timeout of its own was done within that time.
 *
 * @param {Promise<unknown>} action
 */
export async function happens(action) {
  try {
    await action;
    return true;
  } catch (error) {
    // by its name: the tests of the page have another copy of playwright
    if (error instanceof Error && error.name === "TimeoutError") {
      return false;
    }
    throw error;
  }
}

/**
 * Waits until nothing below an element has changed for a while, as a list that other programs add to.
 *
 * @param {import("playwright-core").Locator} locator
 */
export async function still(locator) {
  await locator.evaluate(
    (element, stillFor) =>
      new Promise((resolve) => {
        const done = () => {
          observer.disconnect();
          resolve(undefined);
        };
        let timer = setTimeout(done, stillFor);
        const observer = new MutationObserver(() => {
          clearTimeout(timer);
          timer = setTimeout(done, stillFor);
        });
        observer.observe(element, { attributes: true, childList: true, subtree: true, characterData: true });
      }),
    STILL_FOR,
  );
}

/**
 * Waits until a text matches, and shows it where it does not come to that.
 *
 * @param {string} what
 * @param {() => Promise<string>} look
 * @param {RegExp} expected
 */
export async function untilMatches(what, look, expected) {
  let seen = "";
  try {
    await until(what, async () => {
      seen = await look();
      return expected.test(seen);
    });
  } catch (error) {
    throw new Error(`${what}\n  expected ${expected}\n  but saw  ${seen}`, { cause: error });
  }
}

/**
 * Waits until something is exactly as expected, and shows both where it does not come to that.
 *
 * @template T
 * @param {string} what
 * @param {() => T | Promise<T>} look
 * @param {T} expected
 */
export async function untilEqual(what, look, expected) {
  const wanted = JSON.stringify(expected);
  let seen = "";
  try {
    await until(what, async () => {
      seen = JSON.stringify(await look());
      return seen === wanted;
    });
  } catch (error) {
    throw new Error(`${what}\n  expected ${wanted}\n  but saw  ${seen}`, { cause: error });
  }
}
