import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { ResponsesRequest } from "@deltawire/wire";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fetchLinkedFiles } from "../src/relay/fetch-linked-files.ts";
import { gatewayFixture } from "./gateway-fixture.ts";
import { streamText } from "./scripted-upstream.ts";

const requests: string[] = [];
const server = createServer((request, response) => {
  requests.push(`${request.url} ${request.headers.authorization ?? "no key"}`);
  const types: Record<string, string> = {
    "/notes.txt": "text/plain; charset=utf-8",
    "/my%20paper.pdf": "application/pdf",
    "/dot": "image/png",
  };
  const type = types[request.url ?? ""];
  if (request.url === "/large") response.end(Buffer.alloc(33 * 1024 * 1024));
  else if (type === undefined) response.writeHead(404).end();
  else response.writeHead(200, { "content-type": type }).end("content");
});
let origin = "";

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => void server.close());

const buildRequest = (...urls: string[]): ResponsesRequest => ({
  input: [
    {
      type: "message",
      role: "user",
      content: urls.map((file_url) => ({ type: "input_file", file_url })),
    },
  ],
});
const signal = new AbortController().signal;
const options = { signal, allowsPrivateAddress: () => true };

test("a linked file becomes text, an image or a file, and each link is fetched once without a key", async () => {
  requests.length = 0;
  const urls = ["/notes.txt", "/my%20paper.pdf", "/dot", "/dot"].map((path) => origin + path);
  const fetched = await fetchLinkedFiles(buildRequest(...urls), options);
  const data = Buffer.from("content").toString("base64");
  const image = { type: "input_image", image_url: `data:image/png;base64,${data}`, detail: "auto" };
  expect(fetched.input).toMatchObject([
    {
      content: [
        { type: "input_text", text: "notes.txt:\n\ncontent" },
        {
          type: "input_file",
          filename: "my paper.pdf",
          file_data: `data:application/pdf;base64,${data}`,
        },
        image,
        image,
      ],
    },
  ]);
  expect(requests).toEqual(["/notes.txt no key", "/my%20paper.pdf no key", "/dot no key"]);
});

test.each([
  ["/missing", "the server answered 404 Not Found"],
  ["/large", "larger than 33554432 bytes"],
])("a link to %s is an error of the latest turn only", async (path, reason) => {
  const request = buildRequest(origin + path);
  await expect(fetchLinkedFiles(request, options)).rejects.toMatchObject({
    code: "invalid_request",
    param: "input[0].content[0].file_url",
    message: expect.stringContaining(reason),
  });
  const input = [
    ...(request.input as object[]),
    { type: "message", role: "assistant", content: "I read it" },
    { type: "message", role: "user", content: "And?" },
  ];
  const later = await fetchLinkedFiles({ input } as ResponsesRequest, options);
  expect(later.input).toMatchObject([
    { content: [{ type: "input_text", text: expect.stringContaining("not available") }] },
    {},
    {},
  ]);
});

test("a request without linked files is not changed", async () => {
  const request = { input: [{ type: "message", role: "user", content: "Hi" }] } as ResponsesRequest;
  expect(await fetchLinkedFiles(request, options)).toBe(request);
});

async function linkFixture(speaks: "chat" | "responses") {
  requests.length = 0;
  const { gateway, upstream } = await gatewayFixture(
    (_request, response) => streamText(response, "Read"),
    { upstream: { speaks } },
  );
  const link = `${origin}/notes.txt`;
  const response = await gateway.post("/responses", { model: "up/m", ...buildRequest(link) });
  expect(requests).toEqual([]);
  return { link, response, upstream };
}

test("a link to a private address is refused on a Chat upstream", async () => {
  const { response, upstream } = await linkFixture("chat");
  expect([response.status, await response.json()]).toMatchObject([
    400,
    {
      error: {
        param: "input[0].content[0].file_url",
        message: expect.stringContaining("not on the public internet"),
      },
    },
  ]);
  expect(upstream.requests).toEqual([]);
});

test("a Responses upstream receives the link", async () => {
  const { link, upstream } = await linkFixture("responses");
  expect(JSON.stringify(upstream.requests[0]?.body)).toContain(link);
});
