import type { ServerResponse } from "node:http";
import type { Dispatcher } from "undici";
import { causeOf } from "../relay/failure.ts";
import type { Outcome } from "../relay/outcome.ts";
import { Refusal } from "../relay/refusal.ts";
import type { Upstream } from "../relay/upstream.ts";

/** How long a client may leave what came unread. */
const stalledMs = 300_000;

/** What of an upstream's headers a client needs to read its body; nothing else is passed on. */
const passedHeaders = ["content-type", "content-length", "content-disposition"];

export type FailedForward = Extract<Outcome, { is: "refused" | "unreachable" }>;

export type ForwardOutcome = FailedForward | { is: "left" } | { is: "answered"; status: number };

/** Asks an upstream and pipes what it answers, whatever it is: vectors, pictures, sound. */
export function forward(options: {
  upstream: Upstream;
  path: string;
  headers: Readonly<Record<string, string>>;
  body: Dispatcher.DispatchOptions["body"];
  response: ServerResponse;
  signal: AbortSignal;
  /** The reply begins. */
  onFirst: () => void;
}): Promise<ForwardOutcome> {
  const { upstream, path, headers, body, response, signal, onFirst } = options;
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined;
    let over = false;
    let begun: number | undefined;
    let refusal: Refusal | undefined;
    const leave = (): void => {
      finish({ is: "left" });
      controller?.abort(new Error("the client has left"));
    };
    const finish = (outcome: ForwardOutcome): void => {
      if (over) return;
      over = true;
      signal.removeEventListener("abort", leave);
      resolve(outcome);
    };
    if (signal.aborted) return leave();
    signal.addEventListener("abort", leave, { once: true });
    upstream.dispatch(
      { method: "POST", path, headers, body },
      {
        onRequestStart(started) {
          controller = started;
          if (over) started.abort(new Error("the client has left"));
        },
        onResponseStart(_controller, status, headers) {
          if (status < 200 || over) return;
          if (status >= 300) {
            refusal = new Refusal(status, headers);
            return;
          }
          begun = status;
          onFirst();
          const passed = passedHeaders.flatMap((name) => {
            const value = headers[name];
            return value === undefined ? [] : [[name, value]];
          });
          response.writeHead(status, Object.fromEntries(passed) as Record<string, string>);
        },
        onResponseData(started, bytes) {
          if (over) return;
          if (refusal !== undefined) {
            refusal.push(bytes);
            if (!refusal.isFull) return;
            refused(refusal);
            started.abort(new Error("the refusal is long enough"));
            return;
          }
          if (response.write(bytes)) return;
          started.pause();
          // A client that never reads on must not hold the upstream for ever.
          const stalled = setTimeout(() => response.destroy(), stalledMs).unref();
          response.once("drain", () => {
            clearTimeout(stalled);
            started.resume();
          });
        },
        onResponseEnd() {
          if (over) return;
          if (refusal !== undefined) return refused(refusal);
          response.end();
          finish({ is: "answered", status: begun ?? 200 });
        },
        onResponseError(_controller, error) {
          if (over) return;
          if (refusal !== undefined) return refused(refusal);
          const { code = "", message } = error as NodeJS.ErrnoException;
          if (begun === undefined) {
            const timedOut = /TIMEOUT/.test(code);
            return finish({ is: "unreachable", timedOut, cause: causeOf(code, message) });
          }
          // Half a picture must not look like a whole one.
          response.destroy();
          finish({ is: "answered", status: begun });
        },
      },
    );
    function refused({ status, headers, body: words }: Refusal): void {
      finish({ is: "refused", status, headers, body: words });
    }
  });
}
