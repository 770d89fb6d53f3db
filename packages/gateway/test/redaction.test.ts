import type { ServerResponse } from "node:http";
import { Redactor } from "@deltawire/agent";
import type { JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import { sendRawRequest } from "./raw-http.ts";
import { upstreamToml } from "./test-gateway.ts";
import { helloBodies, wires } from "../check/attack/wires.ts";
import { testGateway, testUpstream, hello, helloChat } from "./gateway-fixture.ts";
import {
  beginStream,
  chatChunk,
  formatEvent,
  sendError,
  streamText,
  type UpstreamScript,
} from "./scripted-upstream.ts";
import { formatNamedEvent, formatStream } from "./wire-replies.ts";

const env = {
  CHAT_KEY: "sk-secret-key-of-chat",
  HEADER_VALUE: 'secret "quoted" \\value of a header',
  TOKEN: "secret-token-of-the-laptop",
};
const secrets = {
  ...env,
  responsesKey: "sk-secret-key-of-responses",
  wrongToken: "secret-token-that-is-wrong",
  cookie: "secret-cookie-of-a-browser",
};
const echo = `you sent Authorization: Bearer ${env.CHAT_KEY} and ${secrets.responsesKey}, X-Team: ${env.HEADER_VALUE}`;
const provider = {
  message: echo,
  code: echo,
  param: echo,
  debug: { headers: [echo, { deep: echo }] },
};

/** Replies of an upstream that repeats secrets, by model name. */
const leakingReplies: Record<string, (response: ServerResponse) => unknown> = {
  ...Object.fromEntries(
    [400, 401, 403, 404, 413, 422, 429, 500, 503].map((status) => [
      `status-${status}`,
      (response: ServerResponse) => sendError(response, status, provider),
    ]),
  ),
  overflow: (response) =>
    sendError(response, 400, { ...provider, code: "context_length_exceeded" }),
  quota: (response) => sendError(response, 429, { ...provider, code: "insufficient_quota" }),
  lesson: (response) =>
    sendError(response, 400, {
      ...provider,
      message: `Unsupported parameter: 'seed'. ${echo}`,
      param: "seed",
    }),
  text: (response) => response.writeHead(500).end(`<html>${echo}</html>`),
  list: (response) => response.writeHead(400).end(JSON.stringify([{ error: provider }])),
  redirect: (response) =>
    response.writeHead(307, { location: `http://127.0.0.1:9/?key=${env.CHAT_KEY}` }).end(),
  "first-event": (response) => {
    beginStream(response);
    response.end(formatEvent({ error: provider }));
  },
  "later-event": (response) => {
    beginStream(response);
    response.write(formatEvent(chatChunk({ content: "Hi" })));
    setTimeout(() => response.end(formatEvent({ error: provider })), 10);
  },
  "failed-response": (response) => {
    beginStream(response);
    const events = formatStream("responses", { text: ["Hi"] });
    response.write(events.slice(0, 5).join(""));
    const failed = {
      id: "resp_1",
      object: "response",
      status: "failed",
      output: [],
      error: provider,
    };
    const last = { type: "response.failed", sequence_number: 5, response: failed } as JsonObject;
    setTimeout(() => response.end(formatNamedEvent(last)), 10);
  },
  "error-event": (response) => {
    beginStream(response);
    response.write(
      formatStream("responses", { text: ["Hi"] })
        .slice(0, 5)
        .join(""),
    );
    setTimeout(() => response.end(formatNamedEvent({ type: "error", ...provider })), 10);
  },
  cut: (response) => {
    beginStream(response);
    response.write(formatEvent(chatChunk({ content: "Hi" })));
    setTimeout(() => response.destroy(), 10);
  },
  "bad-json": (response) => {
    beginStream(response);
    response.end(`data: {${echo}\n\ndata: [DONE]\n\n`);
  },
  fine: (response) => streamText(response, "fine"),
};

const script: UpstreamScript = ({ body, bytes }, response) => {
  const upload = /name="model"\r\n\r\n([\w-]+)/.exec(String(bytes))?.[1] ?? "";
  const model = (body["model"] ?? upload) as string;
  for (const name of ["x-echo", "set-cookie", "openai-organization", "www-authenticate"])
    response.setHeader(name, echo);
  leakingReplies[model]?.(response);
};

test("no key, token, bearer or cookie is in any log line or any reply to a client", async () => {
  const upstream = await testUpstream(script, {
    listModels: (response) => response.writeHead(401).end(JSON.stringify({ error: provider })),
  });
  const gateway = await testGateway(
    `[server]
port = 0
log_level = "debug"
[clients.laptop]
token = "env:TOKEN"
${upstreamToml("chat", upstream.url, { api_key: "env:CHAT_KEY", retries: 0 })}
[upstreams.chat.headers]
x-team-key = "env:HEADER_VALUE"
${upstreamToml("responses", upstream.url, { api_key: secrets.responsesKey, speaks: "responses", retries: 0 })}
${upstreamToml("messages", upstream.url, { api_key: secrets.responsesKey, speaks: "messages", retries: 0 })}`,
    { env },
  );

  const received: string[] = [];
  const request = async (
    method: string,
    path: string,
    token: string,
    sent?: string,
    type?: string,
  ) => {
    const { status, headers, text } = await sendRawRequest(gateway.url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        cookie: `session=${secrets.cookie}`,
        "content-type": type ?? "application/json",
      },
      ...(sent === undefined ? {} : { body: sent }),
    });
    received.push(`${status} ${JSON.stringify(headers)} ${text}`);
  };

  const unredacted: string[] = [];
  for (const name of Object.keys(leakingReplies)) {
    const before = received.length;
    for (const up of wires) {
      await request("POST", "/v1/embeddings", env.TOKEN, JSON.stringify({ model: `${up}/fine` }));
      // Five failures in a row would pause the model.
      gateway.relay.upstreams.get(up)?.health.recordSuccess(name, Date.now());
      const model = `${up}/${name}`;
      for (const stream of [true, false]) {
        await request(
          "POST",
          "/v1/responses",
          env.TOKEN,
          JSON.stringify({ ...hello, model, stream }),
        );
        const chat = { ...helloChat, model, stream, seed: 1 };
        await request("POST", "/v1/chat/completions", env.TOKEN, JSON.stringify(chat));
        const messages = { ...helloBodies.messages, model, stream };
        await request("POST", "/v1/messages", env.TOKEN, JSON.stringify(messages));
      }
      await request("POST", "/v1/embeddings", env.TOKEN, JSON.stringify({ model, input: "x" }));
      const upload = `--x\r\ncontent-disposition: form-data; name="model"\r\n\r\n${model}\r\n--x--\r\n`;
      const multipart = "multipart/form-data; boundary=x";
      await request("POST", "/v1/audio/transcriptions", env.TOKEN, upload, multipart);
    }
    if (!received.slice(before).some((text) => text.includes("Bearer [redacted]")))
      unredacted.push(name);
  }
  const pages = ["/", "/openapi.json", "/healthz", "/readyz", "/v1/models", "/v1/models/chat/x"];
  for (const path of [...pages, "/deltawire/upstreams", "/deltawire/lessons", "/v1/nowhere"])
    for (const token of [env.TOKEN, secrets.wrongToken]) {
      await request("GET", path, token);
      await request("POST", path, token, "{");
    }
  for (const body of ["", "{", "[]", JSON.stringify({ model: 7 }), "x".repeat(100)])
    for (const token of [env.TOKEN, secrets.wrongToken])
      await request("POST", "/v1/responses", token, body);
  await upstream.close();
  for (const up of wires)
    await request(
      "POST",
      "/v1/responses",
      env.TOKEN,
      JSON.stringify({ ...hello, model: `${up}/fine` }),
    );

  // These three replies repeat nothing. What all others repeat has reached a client, without the secrets.
  expect(unredacted).toEqual(["redirect", "cut", "fine"]);
  for (const { headers } of upstream.requests)
    expect(JSON.stringify(headers)).not.toMatch(/secret-(?:token|cookie)/);
  expect(received.length).toBeGreaterThan(200);
  expect(gateway.lines.length).toBeGreaterThan(200);
  const found = Object.entries(secrets).flatMap(([name, secret]) =>
    [...received, ...gateway.lines]
      .filter((text) => text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1)))
      .map((text) => `${name}: ${text}`),
  );
  expect(found).toEqual([]);
}, 20_000);

test("short values are not secrets, and one secret may be a prefix of another", () => {
  const redact = (text: string) => new Redactor(["abc", "secret", "secret-longer"]).redact(text);
  expect(redact("abc secret secret-longer")).toBe("abc [redacted] [redacted]");
});

test("a secret is also found in its JSON form", () => {
  const secret = 'a "quoted" \\ secret';
  expect(new Redactor([secret]).redact(JSON.stringify({ message: `x${secret}y` }))).toBe(
    '{"message":"x[redacted]y"}',
  );
});
