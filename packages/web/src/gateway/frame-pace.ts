/** What a browser tells of its frames. */
export interface Frames {
  readonly now: () => number;
  /** Before the next frame is drawn; what it returns takes it back. */
  readonly request: (run: () => void) => () => void;
  /** Told in a frame: when it has been drawn. */
  readonly drawn: (run: () => void) => void;
}

/** However long drawing takes, what is new is shown after that. */
const longestRestMs = 150;

/**
 * Runs something before a frame is drawn: the next one, unless the last that something was run before took long. A page
 * draws for half of the time at most, so that a slow machine shows new words less often and has every other frame for
 * scrolling and typing.
 */
export function framePace({ now, request, drawn }: Frames): (run: () => void) => () => void {
  let restsUntil = -Infinity;
  return (run) => {
    let cancel = request(function next() {
      const begun = now();
      if (begun < restsUntil) {
        cancel = request(next);
        return;
      }
      run();
      drawn(() => (restsUntil = begun + Math.min(2 * (now() - begun), longestRestMs)));
    });
    return () => cancel();
  };
}
