import type { ServerResponse } from "node:http";
import { ask, type ForwardOutcome } from "./ask.ts";

/** How long a client may leave what came unread. */
const stalledMs = 300_000;

/** What of an upstream's headers a client needs to read its body; nothing else is passed on. */
const passedHeaders = ["content-type", "content-length", "content-disposition"];

type Asked = Omit<Parameters<typeof ask>[0], "taker">;

/** Asks an upstream and pipes what it answers, whatever it is: vectors, pictures, sound. */
export function forward({
  response,
  onFirst,
  ...asked
}: Asked & {
  response: ServerResponse;
  /** The reply begins. */
  onFirst: () => void;
}): Promise<ForwardOutcome> {
  return ask({
    ...asked,
    taker: {
      begin(status, headers) {
        onFirst();
        const passed = passedHeaders.flatMap((name) => {
          const value = headers[name];
          return value === undefined ? [] : [[name, value]];
        });
        response.writeHead(status, Object.fromEntries(passed) as Record<string, string>);
      },
      push(bytes, controller) {
        if (response.write(bytes)) return undefined;
        controller.pause();
        // A client that never reads on must not hold the upstream for ever.
        const stalled = setTimeout(() => response.destroy(), stalledMs).unref();
        response.once("drain", () => {
          clearTimeout(stalled);
          controller.resume();
        });
        return undefined;
      },
      end() {
        response.end();
        return { is: "answered" };
      },
      broken() {
        // Half a picture must not look like a whole one.
        response.destroy();
        return { is: "answered" };
      },
    },
  });
}
