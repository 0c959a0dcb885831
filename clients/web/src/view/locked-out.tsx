/** The page for a browser without a valid token. */
import type { JSX } from "preact";
import { Empty } from "./bits";

export function LockedOut(): JSX.Element {
  return (
    <main class="locked-out">
      <h1 class="heard">snapd</h1>
      <Empty title="This address has no access, or no longer">
        <p>Each start of the server makes a new token. To get an address with it, run this in your folder:</p>
        <p>
          <code>snapd web --open</code>
        </p>
        <p class="quiet">If it runs already, open the address that it printed.</p>
      </Empty>
    </main>
  );
}
