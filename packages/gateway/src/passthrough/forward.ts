import type { ServerResponse } from "node:http";
import type { Redactor } from "@deltawire/agent";
import { bareType } from "@deltawire/tasks";
import type { Connection, ReplyReader } from "../upstream/send-request.ts";
import { forwardedHeaders, hasNoBody } from "./forwarded-headers.ts";

export interface ForwardOptions {
  response: ServerResponse;
  redactor: Redactor;
  /** The reply begins. */
  onFirst: () => void;
  /** Headers of the upstream that are not forwarded, because they are malformed or hold a secret. */
  onDropped: (names: readonly string[]) => void;
}

/** Pipes what an upstream answers, whatever it is: vectors, pictures, sound. Keys are taken out of texts. */
export function forwardReply(options: ForwardOptions, connection: Connection): ReplyReader {
  const { response, redactor, onFirst, onDropped } = options;
  let redacting: ReturnType<Redactor["stream"]> | undefined;
  let isBodiless = false;
  const finish = (failure?: { code: string; message: string }): void =>
    connection.finish({ is: "answered", usage: undefined, failure });
  return {
    begin(status, received) {
      onFirst();
      const { headers, dropped } = forwardedHeaders(received, status, redactor);
      if (dropped.length > 0) onDropped(dropped);
      isBodiless = hasNoBody(status);
      if (!isBinary(headers["content-type"])) redacting = redactor.stream();
      response.writeHead(status, headers);
      // Its Content-Length may promise a body that never comes.
      if (isBodiless) response.end();
    },
    push(bytes) {
      const passed = redacting === undefined ? bytes : redacting.push(bytes);
      if (isBodiless || passed.length === 0 || response.write(passed)) return;
      connection.pause((go) => response.once("drain", go));
    },
    end(how, cause) {
      if (isBodiless) return finish();
      if (how !== "eof") {
        // Half a picture must not look like a whole one.
        response.destroy();
        const code = how === "idle_timeout" ? "upstream_idle_timeout" : "upstream_stream_truncated";
        return finish({ code, message: cause });
      }
      const rest = redacting?.end();
      if (rest !== undefined && rest.length > 0) response.write(rest);
      response.end();
      finish();
    },
  };
}

/** Bytes that are no text: nothing is looked for in them. A body without a type is taken for a text. */
function isBinary(contentType: string | undefined): boolean {
  return /^(?:image\/(?!svg)|audio\/|video\/|font\/|application\/(?:octet-stream|pdf|zip)$)/.test(
    bareType(contentType),
  );
}
