/**
 * Makes a function that runs something soon, once for all calls until then.
 *
 * While it is being done, a call has it done once more afterwards.
 *
 * @param milliseconds How long to wait for further calls.
 */
export function soon(milliseconds: number, act: () => Promise<void>): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isBusy = false;
  let again = false;
  const run = async () => {
    timer = undefined;
    isBusy = true;
    try {
      await act();
    } finally {
      isBusy = false;
      if (again) plan();
    }
  };
  const plan = () => {
    again = isBusy;
    if (!isBusy) timer ??= setTimeout(() => void run(), milliseconds);
  };
  return plan;
}
