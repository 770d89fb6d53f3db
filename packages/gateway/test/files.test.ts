import type { JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import { keyGatewayFixture } from "./access-key-fixture.ts";
import { gatewayFixture } from "./gateway-fixture.ts";
import { streamText } from "./scripted-upstream.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

async function fileFixture() {
  const fixture = await gatewayFixture((_request, response) => streamText(response, "Read"));
  const url = `${fixture.gateway.url}/v1/files`;
  const upload = async (
    bytes: Uint8Array | string,
    filename: string,
    fields: Record<string, string> = { purpose: "user_data" },
  ): Promise<{ status: number; body: JsonObject & { id: string } }> => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.set("file", new File([new Uint8Array(Buffer.from(bytes as string))], filename));
    const response = await fetch(url, { method: "POST", body: form });
    return {
      status: response.status,
      body: (await response.json()) as JsonObject & { id: string },
    };
  };
  const respond = (content: JsonObject[], overrides: object = {}) =>
    fixture.gateway.post("/responses", {
      model: "up/m",
      input: [{ role: "user", content }],
      ...overrides,
    });
  const content = () => {
    const messages = fixture.upstream.requests.at(-1)?.body["messages"] as JsonObject[];
    return messages.at(-1)?.["content"];
  };
  return { ...fixture, url, upload, respond, content };
}

test("a file is uploaded, read, listed and deleted", async () => {
  const { url, upload } = await fileFixture();
  const { status, body } = await upload("Hello", "hello.txt");
  expect([status, body]).toMatchObject([
    200,
    { object: "file", bytes: 5, filename: "hello.txt", purpose: "user_data", status: "processed" },
  ]);
  const second = await upload(png, "dot.png", {
    purpose: "vision",
    "expires_after[anchor]": "created_at",
    "expires_after[seconds]": "3600",
  });
  expect(second.body["expires_at"]).toBe((second.body["created_at"] as number) + 3600);
  const get = async (path: string) => (await fetch(url + path)).json();
  expect(await get(`/${body.id}`)).toEqual(body);
  expect(await get("")).toMatchObject({ object: "list", data: [second.body, body] });
  expect(await get("?purpose=vision&order=asc")).toMatchObject({ data: [second.body] });
  const download = await fetch(`${url}/${second.body.id}/content`);
  expect(Buffer.from(await download.arrayBuffer())).toEqual(png);
  const deleted = await fetch(`${url}/${body.id}`, { method: "DELETE" });
  expect(await deleted.json()).toEqual({ id: body.id, object: "file", deleted: true });
  for (const path of [`/${body.id}`, `/${body.id}/content`])
    expect((await fetch(url + path)).status).toBe(404);
});

test("a model receives a text file as text, an image as image, and others as a file", async () => {
  const { upload, respond, content } = await fileFixture();
  const [text, image, pdf] = [
    await upload("a,b\n1,2", "table.csv"),
    await upload(png, "dot.png"),
    await upload("%PDF-1.4\n", "paper.pdf"),
  ];
  const response = await respond([
    { type: "input_file", file_id: text.body.id },
    { type: "input_image", file_id: image.body.id },
    { type: "input_file", file_id: pdf.body.id },
  ]);
  expect(response.status).toBe(200);
  expect(content()).toMatchObject([
    { type: "text", text: expect.stringContaining("a,b\n1,2") },
    { type: "image_url", image_url: { url: expect.stringMatching(/^data:image\/png;base64,/) } },
    {
      type: "file",
      file: {
        filename: "paper.pdf",
        file_data: expect.stringMatching(/^data:application\/pdf;base64,/),
      },
    },
  ]);
});

test("later turns do not fail when a file was deleted, but a request that names it does", async () => {
  const { upload, respond, url, upstream } = await fileFixture();
  const { body } = await upload("Hello", "hello.txt");
  const part = { type: "input_file", file_id: body.id };
  const { id } = (await (await respond([part])).json()) as { id: string };
  await fetch(`${url}/${body.id}`, { method: "DELETE" });
  const next = await respond([{ type: "input_text", text: "And?" }], { previous_response_id: id });
  expect(next.status).toBe(200);
  expect(JSON.stringify(upstream.requests.at(-1)?.body)).toContain("a file that was deleted");
  const again = await respond([part]);
  expect([again.status, await again.text()]).toEqual([400, expect.stringContaining("not found")]);
});

test.each([
  [{}, "purpose"],
  [{ purpose: "user_data", "expires_after[seconds]": "1" }, "expires_after[seconds]"],
])("an upload with the fields %j is an error", async (fields, param) => {
  const { upload } = await fileFixture();
  expect(await upload("Hello", "a.txt", fields)).toMatchObject({
    status: 400,
    body: { error: { param } },
  });
});

test("a body that is not multipart is an error", async () => {
  const { gateway } = await fileFixture();
  expect((await gateway.post("/files", {})).status).toBe(400);
});

test("files of another access key are not found", async () => {
  const fixture = await keyGatewayFixture();
  const [ann, bob] = await Promise.all(
    ["ann", "bob"].map((name) => fixture.createClient({ name, owner: name, scopes: ["models"] })),
  );
  const form = new FormData();
  form.set("purpose", "user_data");
  form.set("file", new File(["secret"], "a.txt"));
  const uploaded = await fetch(`${fixture.gateway.url}/v1/files`, {
    method: "POST",
    body: form,
    headers: { authorization: `Bearer ${ann?.key}` },
  });
  const { id } = (await uploaded.json()) as { id: string };
  expect(await ann?.request("GET", `/v1/files/${id}/content`)).toMatchObject({ status: 200 });
  for (const [method, path] of [
    ["GET", `/v1/files/${id}`],
    ["GET", `/v1/files/${id}/content`],
    ["DELETE", `/v1/files/${id}`],
  ] as const)
    expect(await bob?.request(method, path)).toMatchObject({ status: 404 });
  expect(await bob?.request("GET", "/v1/files")).toMatchObject({ body: { data: [] } });
  const content = [{ type: "input_file", file_id: id }];
  const body = { model: "demo/clean", input: [{ role: "user", content }] };
  expect(await bob?.request("POST", "/v1/responses", body)).toMatchObject({ status: 400 });
});
