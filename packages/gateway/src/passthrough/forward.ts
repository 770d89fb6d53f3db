import type { ServerResponse } from "node:http";
import type { Redactor } from "@deltawire/agent";
import { bareType } from "@deltawire/tasks";
import { forwardedHeaders, hasNoBody } from "../relay/forwarded-headers.ts";
import { ask, type ForwardOutcome } from "./ask.ts";

/** How long a client may leave what came unread. */
const stalledMs = 300_000;

type Asked = Omit<Parameters<typeof ask>[0], "taker">;

/** Asks an upstream and pipes what it answers, whatever it is: vectors, pictures, sound. Keys are taken out of texts. */
export function forward({
  response,
  onFirst,
  onDropped,
  redactor,
  ...asked
}: Asked & {
  redactor: Redactor;
  response: ServerResponse;
  /** The reply begins. */
  onFirst: () => void;
  /** Headers of the upstream that are not forwarded, because they are malformed or hold a secret. */
  onDropped: (names: readonly string[]) => void;
}): Promise<ForwardOutcome> {
  let redacting: ReturnType<Redactor["stream"]> | undefined;
  let bodiless = false;
  return ask({
    ...asked,
    taker: {
      begin(status, received) {
        onFirst();
        const { headers, dropped } = forwardedHeaders(received, status, redactor);
        if (dropped.length > 0) onDropped(dropped);
        bodiless = hasNoBody(status);
        if (!isBinary(headers["content-type"])) redacting = redactor.stream();
        response.writeHead(status, headers);
        // Its Content-Length may promise a body that never comes.
        if (bodiless) response.end();
      },
      push(bytes, controller) {
        const passed = redacting === undefined ? bytes : redacting.push(bytes);
        if (bodiless || passed.length === 0 || response.write(passed)) return undefined;
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
        const rest = redacting?.end();
        if (rest !== undefined && rest.length > 0 && !bodiless) response.write(rest);
        if (!bodiless) response.end();
        return { is: "answered" };
      },
      broken(how) {
        if (bodiless) return { is: "answered" };
        // Half a picture must not look like a whole one.
        response.destroy();
        const failure = { is: "unreachable", connected: true, answered: true, ...how } as const;
        return { is: "answered", failure };
      },
    },
  });
}

/** Bytes that are no text: nothing is looked for in them. A body without a type is taken for a text. */
function isBinary(contentType: string | undefined): boolean {
  return /^(?:image\/(?!svg)|audio\/|video\/|font\/|application\/(?:octet-stream|pdf|zip)$)/.test(
    bareType(contentType),
  );
}
