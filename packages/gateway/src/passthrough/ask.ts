import type { Dispatcher } from "undici";
import type { ReceivedHeaders } from "../relay/forwarded-headers.ts";
import { isOutOfFiles } from "../problem.ts";
import { causeOf } from "../relay/failure.ts";
import { InterimReplies } from "../relay/interim-replies.ts";
import type { Outcome } from "../relay/outcome.ts";
import { Refusal, refusalSeconds } from "../relay/refusal.ts";
import type { UpstreamRequest } from "../relay/upstream.ts";

export type FailedForward = Extract<Outcome, { is: "refused" | "failed" | "unreachable" }>;

export type ForwardOutcome =
  | FailedForward
  | { is: "left" }
  /** `failure`: it broke after something had been passed on, so nothing can be tried again. */
  | { is: "answered"; failure?: FailedForward };

/** What becomes of a reply that is no refusal. */
export interface ReplyTaker {
  begin(status: number, headers: ReceivedHeaders): void;
  /** An outcome ends the reply at once. `whole`: nothing more is awaited, but an orderly end is welcome. */
  push(
    bytes: Buffer,
    controller: Dispatcher.DispatchController,
  ): ForwardOutcome | "whole" | undefined;
  end(): ForwardOutcome;
  /** The connection broke in the middle of it. */
  broken(how: { timedOut: boolean; cause: string }): ForwardOutcome;
}

/** How long a server that has said everything may keep the connection open. */
const graceMs = 1000;

/** Asks an upstream once, for whatever its answer is: vectors, pictures, sound. */
export function ask(options: {
  request: UpstreamRequest;
  path: string;
  headers: Readonly<Record<string, string>>;
  body: Dispatcher.DispatchOptions["body"];
  signal: AbortSignal;
  taker: ReplyTaker;
}): Promise<ForwardOutcome> {
  const { request, path, headers, body, signal, taker } = options;
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let over = false;
    let begun = false;
    let refusal: Refusal | undefined;
    let grace: NodeJS.Timeout | undefined;
    const leave = (): void => {
      finish({ is: "left" });
      controller?.abort(new Error("the client has left"));
    };
    const finish = (outcome: ForwardOutcome): void => {
      if (over) return;
      over = true;
      clearTimeout(grace);
      interimReplies.stop();
      signal.removeEventListener("abort", leave);
      resolve(outcome);
    };
    const { idleTimeoutMs } = request.upstream.config;
    const interimReplies = new InterimReplies(idleTimeoutMs, (outcome) => {
      finish(outcome);
      controller?.abort(new Error("interim replies and no reply"));
    });
    if (signal.aborted) return leave();
    signal.addEventListener("abort", leave, { once: true });
    request.upstream.dispatch(
      { method: "POST", path, headers, body },
      {
        onRequestStart(started) {
          controller = started;
          if (over) started.abort(new Error("the client has left"));
        },
        onResponseStart(started, status, headers) {
          if (over) return;
          if (status < 200) return interimReplies.add();
          interimReplies.stop();
          if (status >= 300) {
            const waiting = new Refusal(status, headers);
            refusal = waiting;
            grace = setTimeout(() => {
              refused(waiting);
              started.abort(new Error("the refusal takes too long"));
            }, refusalSeconds * 1000);
            return;
          }
          begun = true;
          taker.begin(status, headers);
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
          const taken = taker.push(bytes, started);
          if (taken === undefined || taken === "whole") request.answering();
          if (taken === undefined) return;
          const endNow = (outcome: ForwardOutcome): void => {
            finish(outcome);
            started.abort(new Error("the reply is long enough"));
          };
          if (taken === "whole") grace ??= setTimeout(() => endNow(taker.end()), graceMs);
          else endNow(taken);
        },
        onResponseEnd() {
          if (over) return;
          if (refusal !== undefined) return refused(refusal);
          finish(taker.end());
        },
        onResponseError(_controller, error) {
          if (over) return;
          if (refusal !== undefined) return refused(refusal);
          const { code = "", message } = error as NodeJS.ErrnoException;
          const how = { timedOut: /TIMEOUT/.test(code), cause: causeOf(code, message) };
          if (isOutOfFiles(error)) {
            reject(error);
            return finish({ is: "left" });
          }
          if (begun) return finish(taker.broken(how));
          const connected = controller === undefined ? {} : { connected: true as const };
          finish({ is: "unreachable", ...how, ...connected });
        },
      },
    );
    function refused({ status, headers, body: words }: Refusal): void {
      finish({ is: "refused", status, headers, body: words });
    }
  });
}
