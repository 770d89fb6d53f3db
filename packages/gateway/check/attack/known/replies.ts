import type { JsonObject } from "@deltawire/wire";
import { formatEvent } from "../../../test/scripted-upstream.ts";
import {
  buildChunk,
  encodeGoodReply,
  goodText,
  formatResponseEvents,
  buildResponse,
} from "../upstream/good-replies.ts";
import type { ReplyScript } from "../upstream/hostile-upstream.ts";

/* Replies of upstreams that were once handled wrongly, by the name of the model that sends them. */

const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: goodText, annotations: [] }],
};

/** Creates a good reply whose `error` field means that there is no error. */
function withoutError(error: unknown): ReplyScript {
  return async (reply) => {
    const extraFields = { error: error as JsonObject };
    if (reply.wire === "messages") {
      const message = JSON.parse(encodeGoodReply("messages", false)) as JsonObject;
      if (!reply.stream) return reply.json(JSON.stringify({ ...message, ...extraFields }));
      return reply.events([
        encodeGoodReply("messages", true).replaceAll(
          '"type":"message_',
          `"error":${JSON.stringify(error)},"type":"message_`,
        ),
      ]);
    }
    if (reply.wire === "responses") {
      const response = buildResponse({ error: error as JsonObject, output: [message] });
      if (!reply.stream) return reply.json(JSON.stringify(response));
      return reply.events(
        formatResponseEvents([
          { type: "response.created", response: buildResponse({ status: "in_progress" }) },
          {
            type: "response.output_item.added",
            output_index: 0,
            item: { ...message, content: [] },
          },
          { type: "response.output_item.done", output_index: 0, item: message },
          { type: "response.completed", response },
        ]),
      );
    }
    if (!reply.stream)
      return reply.json(
        JSON.stringify(
          buildChunk(
            [
              {
                index: 0,
                message: { role: "assistant", content: goodText },
                finish_reason: "stop",
              },
            ],
            extraFields,
          ),
        ),
      );
    return reply.events([
      formatEvent(buildChunk([{ index: 0, delta: { content: goodText } }], extraFields)),
      formatEvent(buildChunk([{ index: 0, delta: {}, finish_reason: "stop" }], extraFields)),
      formatEvent("[DONE]"),
    ]);
  };
}

export const knownReplies: Readonly<Record<string, ReplyScript>> = {
  "empty-error": withoutError(""),
  "false-error": withoutError(false),
  "null-error": withoutError(null),
  "zero-error": withoutError(0),
  cancelled: (reply) => {
    const response = buildResponse({ status: "cancelled" });
    if (!reply.stream) return reply.json(JSON.stringify(response));
    return reply.events(
      formatResponseEvents([
        { type: "response.created", response: buildResponse({ status: "in_progress" }) },
        { type: "response.cancelled", response },
      ]),
    );
  },
};

/** A second reply, written into a header: in UTF-8 each letter ends in the byte of CR or LF. */
const lineEnding = "\u010d\u010a";
export const injectedHeader = "x-injected";
const splittingValue = `a${lineEnding}${injectedHeader}: yes${lineEnding}${lineEnding}HTTP/1.1 200 OK${lineEnding}content-length: 3${lineEnding}${lineEnding}EVL`;

const forwardedHeaders = [
  "content-disposition",
  "content-type",
  "content-language",
  "content-encoding",
  "etag",
  "cache-control",
  "retry-after",
  "x-request-id",
  "openai-processing-ms",
  "x-ratelimit-limit-requests",
  "location",
];

/** A good reply whose n-th header of `forwarded` tries to end the reply's head early. */
export const splittingReply: ReplyScript = async (reply) => {
  const name = forwardedHeaders[reply.variant] ?? "x";
  const body = '{"data":[],"object":"list"}';
  await reply.write(
    Buffer.from(
      `HTTP/1.1 200 OK\r\n${name === "content-type" ? "" : "content-type: application/json\r\n"}content-length: ${body.length}\r\n${name}: ${splittingValue}\r\nconnection: close\r\n\r\n${body}`,
    ),
  );
  reply.end();
};
export const splittingVariants = forwardedHeaders.length;
