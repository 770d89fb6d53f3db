import type { ServerResponse } from "node:http";
import { Redactor } from "@deltawire/agent";
import type { JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import { ask } from "./raw-http.ts";
import { upstreamToml } from "./running-gateway.ts";
import { aGateway, anUpstream, hello, helloChat } from "./scene.ts";
import { beginStream, chunk, event, refuse, says, type Script } from "./scripted-upstream.ts";
import { namedEvent, streamed } from "./wire-replies.ts";

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

/** What an upstream that has no manners answers, by the model's name. */
const rude: Record<string, (response: ServerResponse) => unknown> = {
  ...Object.fromEntries(
    [400, 401, 403, 404, 413, 422, 429, 500, 503].map((status) => [
      `status-${status}`,
      (response: ServerResponse) => refuse(response, status, provider),
    ]),
  ),
  overflow: (response) => refuse(response, 400, { ...provider, code: "context_length_exceeded" }),
  quota: (response) => refuse(response, 429, { ...provider, code: "insufficient_quota" }),
  lesson: (response) =>
    refuse(response, 400, {
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
    response.end(event({ error: provider }));
  },
  "later-event": (response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Hi" })));
    setTimeout(() => response.end(event({ error: provider })), 10);
  },
  "failed-response": (response) => {
    beginStream(response);
    const pieces = streamed("responses", { text: ["Hi"] });
    response.write(pieces.slice(0, 5).join(""));
    const failed = {
      id: "resp_1",
      object: "response",
      status: "failed",
      output: [],
      error: provider,
    };
    const last = { type: "response.failed", sequence_number: 5, response: failed } as JsonObject;
    setTimeout(() => response.end(namedEvent(last)), 10);
  },
  "error-event": (response) => {
    beginStream(response);
    response.write(
      streamed("responses", { text: ["Hi"] })
        .slice(0, 5)
        .join(""),
    );
    setTimeout(() => response.end(namedEvent({ type: "error", ...provider })), 10);
  },
  cut: (response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Hi" })));
    setTimeout(() => response.destroy(), 10);
  },
  "bad-json": (response) => {
    beginStream(response);
    response.end(`data: {${echo}\n\ndata: [DONE]\n\n`);
  },
  fine: (response) => says(response, "fine"),
};

const script: Script = ({ body, bytes }, response) => {
  const upload = /name="model"\r\n\r\n([\w-]+)/.exec(String(bytes))?.[1] ?? "";
  const model = (body["model"] ?? upload) as string;
  for (const name of ["x-echo", "set-cookie", "openai-organization", "www-authenticate"])
    response.setHeader(name, echo);
  rude[model]?.(response);
};

test("no key, token, bearer or cookie is in anything that is logged or that any client gets", async () => {
  const upstream = await anUpstream(script, {
    listModels: (response) => response.writeHead(401).end(JSON.stringify({ error: provider })),
  });
  const gateway = await aGateway(
    `[server]
port = 0
log_level = "debug"
[clients.laptop]
token = "env:TOKEN"
${upstreamToml("chat", upstream.url, { api_key: "env:CHAT_KEY", retries: 0 })}
[upstreams.chat.headers]
x-team-key = "env:HEADER_VALUE"
${upstreamToml("responses", upstream.url, { api_key: secrets.responsesKey, speaks: "responses", retries: 0 })}`,
    { env },
  );

  const got: string[] = [];
  const request = async (
    method: string,
    path: string,
    token: string,
    sent?: string,
    type?: string,
  ) => {
    const { status, headers, text } = await ask(gateway.url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        cookie: `session=${secrets.cookie}`,
        "content-type": type ?? "application/json",
      },
      ...(sent === undefined ? {} : { body: sent }),
    });
    got.push(`${status} ${JSON.stringify(headers)} ${text}`);
  };

  const unredacted: string[] = [];
  for (const name of Object.keys(rude)) {
    const before = got.length;
    for (const up of ["chat", "responses"]) {
      await request("POST", "/v1/embeddings", env.TOKEN, JSON.stringify({ model: `${up}/fine` }));
      // Five failures in a row would pause the model.
      gateway.relay.upstreams.get(up)?.health.succeeded(name, Date.now());
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
      }
      await request("POST", "/v1/embeddings", env.TOKEN, JSON.stringify({ model, input: "x" }));
      const upload = `--x\r\ncontent-disposition: form-data; name="model"\r\n\r\n${model}\r\n--x--\r\n`;
      const multipart = "multipart/form-data; boundary=x";
      await request("POST", "/v1/audio/transcriptions", env.TOKEN, upload, multipart);
    }
    if (!got.slice(before).some((text) => text.includes("Bearer [redacted]")))
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
  for (const up of ["chat", "responses"])
    await request(
      "POST",
      "/v1/responses",
      env.TOKEN,
      JSON.stringify({ ...hello, model: `${up}/fine` }),
    );

  // These have none in their body. The echo of every other reply has reached a client, without the secrets.
  expect(unredacted).toEqual(["redirect", "cut", "fine"]);
  for (const { headers } of upstream.requests)
    expect(JSON.stringify(headers)).not.toMatch(/secret-(?:token|cookie)/);
  expect(got.length).toBeGreaterThan(200);
  expect(gateway.lines.length).toBeGreaterThan(200);
  const found = Object.entries(secrets).flatMap(([name, secret]) =>
    [...got, ...gateway.lines]
      .filter((text) => text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1)))
      .map((text) => `${name}: ${text}`),
  );
  expect(found).toEqual([]);
}, 20_000);

test("what is short is no secret, and one secret may begin another", () => {
  const redact = (text: string) => new Redactor(["abc", "secret", "secret-longer"]).redact(text);
  expect(redact("abc secret secret-longer")).toBe("abc [redacted] [redacted]");
});

test("a secret is found also as JSON writes it", () => {
  const secret = 'a "quoted" \\ secret';
  expect(new Redactor([secret]).redact(JSON.stringify({ message: `x${secret}y` }))).toBe(
    '{"message":"x[redacted]y"}',
  );
});
