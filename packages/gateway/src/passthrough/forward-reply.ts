import type { ServerResponse } from "node:http";
import type { Redactor } from "@deltawire/agent";
import { mediaTypeEssence } from "@deltawire/tasks";
import { ReportedUsage } from "./reported-usage.ts";
import type { UpstreamConnection, UpstreamReplyReader } from "../upstream/send-request.ts";
import { selectForwardedHeaders, hasNoBody } from "./forwarded-headers.ts";

export interface ForwardOptions {
  response: ServerResponse;
  redactor: Redactor;
  /** Called when the reply starts. */
  onFirstByte: () => void;
  /** Called with the names of upstream headers that are not forwarded, because they are malformed or contain a secret. */
  onDroppedHeaders: (names: readonly string[]) => void;
}

/** Pipes a reply of any type, such as embeddings, images or audio, to the client. Keys are removed from text. */
export function forwardReply(
  options: ForwardOptions,
  connection: UpstreamConnection,
): UpstreamReplyReader {
  const { response, redactor, onFirstByte, onDroppedHeaders } = options;
  let redactionStream: ReturnType<Redactor["createStream"]> | undefined;
  let isBodiless = false;
  let reportedUsage: ReportedUsage | undefined;
  const finish = (failure?: { code: string; message: string }): void =>
    connection.finish({ type: "answered", usage: reportedUsage?.find(), failure });
  return {
    begin(status, upstreamHeaders) {
      onFirstByte();
      const { headers, dropped } = selectForwardedHeaders(upstreamHeaders, status, redactor);
      if (dropped.length > 0) onDroppedHeaders(dropped);
      isBodiless = hasNoBody(status);
      if (!isBinary(headers["content-type"])) {
        redactionStream = redactor.createStream();
        reportedUsage = new ReportedUsage();
      }
      response.writeHead(status, headers);
      // Content-Length may announce a body that never arrives.
      if (isBodiless) response.end();
    },
    push(bytes) {
      reportedUsage?.push(bytes);
      const redactedBytes = redactionStream === undefined ? bytes : redactionStream.push(bytes);
      if (isBodiless || redactedBytes.length === 0 || response.write(redactedBytes)) return;
      connection.pause((resume) => response.once("drain", resume));
    },
    end(endReason, cause) {
      if (isBodiless) return finish();
      if (endReason !== "eof") {
        // A truncated file must not look complete.
        response.destroy();
        const code =
          endReason === "idle_timeout" ? "upstream_idle_timeout" : "upstream_stream_truncated";
        return finish({ code, message: cause });
      }
      const remainingBytes = redactionStream?.end();
      if (remainingBytes !== undefined && remainingBytes.length > 0) response.write(remainingBytes);
      response.end();
      finish();
    },
  };
}

/** True for binary types, which are not redacted. A body without a type counts as text. */
function isBinary(contentType: string | undefined): boolean {
  return /^(?:image\/(?!svg)|audio\/|video\/|font\/|application\/(?:octet-stream|pdf|zip)$)/.test(
    mediaTypeEssence(contentType),
  );
}
