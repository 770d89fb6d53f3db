import type { JsonObject } from "@deltawire/wire";
import { event } from "../../../test/scripted-upstream.ts";
import { chunkWith, responseEvents, responseWith } from "./good-replies.ts";
import type { UpstreamMode, UpstreamReply } from "./hostile-upstream.ts";

/* Errors in every shape that providers have, with the key in them: it must not come back out. */

/** The body of an error that says this. */
const shapes: Record<string, (words: string) => JsonObject> = {
  OpenAI: (words) => ({ error: { message: words, type: "server_error", param: null, code: "x" } }),
  "OpenAI with the words everywhere": (words) => ({
    error: {
      message: words,
      type: words,
      param: words,
      code: words,
      details: [words, { deep: words }],
    },
  }),
  "a text": (words) => ({ error: words }),
  "a code alone": (words) => ({ error: { code: words } }),
  vLLM: (words) => ({
    object: "error",
    message: words,
    type: "BadRequestError",
    param: null,
    code: 400,
  }),
  OpenRouter: (words) => ({
    error: {
      code: 502,
      message: "Provider returned error",
      metadata: { raw: words, provider_name: words },
    },
  }),
  "a choice of OpenRouter": (words) =>
    chunkWith([
      {
        index: 0,
        delta: { content: "" },
        finish_reason: "error",
        error: { code: 502, message: words, metadata: { raw: words } },
      },
    ]),
  FastAPI: (words) => ({ detail: words }),
  "FastAPI with a list": (words) => ({
    detail: [{ loc: ["body", words], msg: words, type: "value_error", input: words }],
  }),
  Google: (words) => ({
    error: {
      code: 400,
      message: words,
      status: "INVALID_ARGUMENT",
      details: [{ "@type": "x", reason: words }],
    },
  }),
  "a list of Google": (words) =>
    [{ error: { code: 400, message: words } }] as unknown as JsonObject,
  Anthropic: (words) => ({
    type: "error",
    error: { type: "invalid_request_error", message: words },
  }),
  AWS: (words) => ({ message: words, __type: "ValidationException" }),
  Azure: (words) => ({
    error: { innererror: { code: "x", content_filter_result: { note: words } }, message: words },
  }),
  Cloudflare: (words) => ({
    success: false,
    errors: [{ code: 1, message: words }],
    messages: [words],
  }),
  "problem+json": (words) => ({ type: "about:blank", title: words, detail: words, status: 400 }),
  "msg and code": (words) => ({ code: 1113, msg: words }),
  "base_resp of MiniMax": (words) => ({ base_resp: { status_code: 1004, status_msg: words } }),
  "JSON in a text": (words) => ({
    error: { message: JSON.stringify({ error: { message: words } }) },
  }),
  "JSON in a text in a text": (words) => ({
    error: { message: JSON.stringify(JSON.stringify({ message: words })) },
  }),
  "a field named after the words": (words) => ({ error: { message: "x", [words]: words } }),
  error_message: (words) => ({ error_message: words, reason: words, description: words }),
};

const statuses = [400, 401, 403, 404, 422, 429, 500, 503];

/** Where texts have been cut: keys that begin just before must not lose their end to it. */
const cuts = [
  100, 200, 256, 300, 400, 500, 512, 1000, 1024, 2000, 2048, 4000, 4096, 8000, 8192, 10_000,
];

const keyStarts = [1, 2, 8, 9, 15, 20, 30, 37, 38];

const words = (key: string): string => `Incorrect API key provided: ${key}. Your key is wrong`;

export const errorModes: readonly UpstreamMode[] = [
  ...Object.entries(shapes).flatMap(([shape, build]): UpstreamMode[] => [
    {
      name: `an error as ${shape} sends it, with the key in it, at every status`,
      variants: statuses.length,
      play: (reply) =>
        reply.json(JSON.stringify(build(words(reply.key))), statuses[reply.variant] ?? 400),
    },
    {
      name: `an error as ${shape} sends it, with the key in it, in a reply of 200`,
      variants: 3,
      play: (reply) => {
        const error = JSON.stringify(build(words(reply.key)));
        if (!reply.stream) return reply.json(error);
        const before = ["", firstWords(reply), `${firstWords(reply)}event: error\n`];
        return reply.events([`${before[reply.variant]}data: ${error}\n\n`]);
      },
    },
  ]),
  {
    name: "a key at the place where a text is cut",
    variants: cuts.length * keyStarts.length,
    play: (reply) => {
      const cut = cuts[Math.floor(reply.variant / keyStarts.length)] ?? 0;
      const start = keyStarts[reply.variant % keyStarts.length] ?? 0;
      const text = `${"x".repeat(Math.max(0, cut - start))}${reply.key} ${"y".repeat(200)}`;
      return reply.json(
        JSON.stringify({
          error: { message: text, type: "invalid_request_error", param: null, code: null },
        }),
        400,
      );
    },
  },
  {
    name: "a key at the place where a text is cut, in a body that is no JSON",
    variants: cuts.length * keyStarts.length,
    play: async (reply) => {
      const cut = cuts[Math.floor(reply.variant / keyStarts.length)] ?? 0;
      const start = keyStarts[reply.variant % keyStarts.length] ?? 0;
      await reply.head(400, { "content-type": "text/plain" });
      await reply.write(`${"x".repeat(Math.max(0, cut - start))}${reply.key} ${"y".repeat(200)}`);
      reply.end();
    },
  },
  {
    name: "a key that the network cuts in an error",
    variants: 4,
    play: async (reply) => {
      const text = JSON.stringify({ error: { message: words(reply.key) } });
      const at = text.indexOf(reply.key) + 20;
      await reply.head(reply.variant < 2 ? 400 : 200, { "content-type": "application/json" });
      await reply.write(text.slice(0, at));
      await reply.pause(20);
      // In two of them the rest never comes.
      if (reply.variant % 2 === 0) await reply.write(text.slice(at));
      reply.end();
    },
  },
  {
    name: "a key that the network cuts in an event",
    forms: ["streamed"],
    variants: 2,
    play: async (reply) => {
      const text = `${firstWords(reply)}data: ${JSON.stringify({ error: { message: words(reply.key) } })}\n\n`;
      const at = text.indexOf(reply.key) + 20;
      await reply.head(200, { "content-type": "text/event-stream" });
      await reply.write(text.slice(0, at));
      await reply.pause(20);
      if (reply.variant === 0) await reply.write(text.slice(at));
      reply.end();
    },
  },
  {
    name: "a key in headers of an error",
    variants: 4,
    play: async (reply) => {
      const name =
        ["www-authenticate", "x-request-id", "retry-after", "location"][reply.variant] ?? "x";
      await reply.head([401, 400, 429, 307][reply.variant] ?? 400, {
        [name]: `Bearer ${reply.key}`,
        "content-type": "application/json",
      });
      await reply.write('{"error":{"message":"no"}}');
      reply.end();
    },
  },
  {
    name: "a key in a page of HTML, in XML, in a reason and in a broken line",
    variants: 4,
    play: async (reply) => {
      const bodies = [
        `<html><body>${reply.key}</body></html>`,
        `<Error><Message>${reply.key}</Message></Error>`,
        "",
        `{"error":{"message":"${reply.key}`,
      ];
      await reply.head(reply.variant === 2 ? `HTTP/1.1 400 ${reply.key}` : 400, {
        "content-type": "text/html",
      });
      await reply.write(bodies[reply.variant] ?? "");
      reply.end();
    },
  },
  {
    name: "a key in what the upstream says went wrong with a parameter",
    variants: 6,
    play: (reply) => {
      const messages = [
        `Unsupported parameter: 'tools' with ${reply.key}`,
        `${reply.key}: Unrecognized request argument supplied: parallel_tool_calls`,
        `Unsupported value: 'temperature' does not support 0.5 with this model for ${reply.key}.`,
        `Invalid 'messages[0].content': ${reply.key}`,
        `tool_choice is not supported (${reply.key})`,
        `Extra inputs are not permitted, field: 'stream_options', value: ${reply.key}`,
      ];
      return reply.json(
        JSON.stringify({
          error: {
            message: messages[reply.variant],
            type: "invalid_request_error",
            param: null,
            code: "unsupported_parameter",
          },
        }),
        400,
      );
    },
  },
  {
    name: "a failed response with the key in it",
    wires: ["responses"],
    variants: 3,
    play: (reply) => {
      const error = { code: "server_error", message: words(reply.key) };
      const failed =
        [
          responseWith({ status: "failed", error }),
          responseWith({ status: "incomplete", incomplete_details: { reason: words(reply.key) } }),
          responseWith({ status: "cancelled", error }),
        ][reply.variant] ?? {};
      if (!reply.stream) return reply.json(JSON.stringify(failed));
      return reply.events(
        responseEvents([{ type: `response.${failed["status"] as string}`, response: failed }]),
      );
    },
  },
  {
    name: "an error of 50 MB",
    variants: 1,
    wires: ["chat"],
    alone: true,
    play: (reply) =>
      reply.json(`{"error":{"message":"${"x".repeat(50_000_000)}${reply.key}"}}`, 400),
  },
  {
    name: "an error of 50 MB in a stream",
    forms: ["streamed"],
    wires: ["chat"],
    alone: true,
    play: (reply) =>
      reply.events([
        firstWords(reply),
        'data: {"error":{"message":"',
        ...Array<string>(25).fill("x".repeat(1_000_000)),
        `"}}\n\n`,
      ]),
  },
];

function firstWords(reply: UpstreamReply): string {
  if (reply.wire === "chat") return event(chunkWith([{ index: 0, delta: { content: "Hi" } }]));
  return [
    ...responseEvents([
      { type: "response.created", response: responseWith({ status: "in_progress" }) },
    ]),
  ].join("");
}
