import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "@deltawire/store";
import type { JsonObject } from "@deltawire/wire";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  canRunPostgres,
  connectToPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../test/postgres-server.ts";
import { temporaryFolder } from "./deltawire-process.ts";
import { hello, testGateway, testUpstream } from "./gateway-fixture.ts";
import { runCommand } from "./run-command.ts";
import { beginStream, chatChunk, formatEvent, type UpstreamScript } from "./scripted-upstream.ts";
import { readEvents, upstreamToml } from "./test-gateway.ts";

vi.setConfig({ testTimeout: 60_000 });

const details = [
  { type: "reasoning.text", text: "Hm.", signature: "sig-0123456789", format: "f", index: 0 },
];

/** A model whose reasoning must be sent back to it. */
const reasoningScript: UpstreamScript = (_received, response) => {
  beginStream(response);
  response.write(formatEvent(chatChunk({ reasoning: "Hm.", reasoning_details: details })));
  response.write(formatEvent(chatChunk({ content: "Hello." })));
  response.write(formatEvent(chatChunk({}, "stop")));
  response.end(formatEvent("[DONE]"));
};

/** The notice about a key that a copy does not contain. */
const missingKeyNotice = /key for sealed reasoning is not part of the source.*seal\.key/;

test("a copy of a file says that the key for sealed reasoning is in the data folder", async () => {
  const cwd = temporaryFolder();
  const store = await openStore({ folder: cwd });
  await store.close();
  const { code, stdout } = await runCommand(["store", "copy", "deltawire.db", "b.db"], { cwd });
  expect(code).toBe(0);
  expect(stdout).toMatch(missingKeyNotice);
});

test("repeating a finished copy says that it is complete", async () => {
  const cwd = temporaryFolder();
  const store = await openStore({ folder: cwd });
  await store.getOrCreateSecret("sealing_key", "secret");
  await store.addGrant("s", { tool: "shell" });
  await store.addGrant("s", { tool: "files" });
  await store.close();
  const copy = () => runCommand(["store", "copy", "deltawire.db", "b.db"], { cwd });
  expect((await copy()).stdout).toMatch(/^Copied \d+ rows/);
  expect(await copy()).toEqual({
    code: 0,
    stdout: "The copy is already complete: both stores contain the same 3 rows.\n",
    stderr: "",
  });
});

test("check without a store checks that of the folder in --data", async () => {
  const cwd = temporaryFolder();
  const path = join(cwd, "data", "deltawire.db");
  const store = await openStore({ folder: join(cwd, "data") });
  await store.close();
  const check = (...args: string[]) => runCommand(["store", "check", ...args], { cwd });
  expect(await check("--data", "data", "--json")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"problems":[]') as string,
  });
  rmSync(path);
  for (const args of [["--data", "data"], []]) expect((await check(...args)).code).toBe(1);
  expect((await check("--data", "data")).stderr).toContain(path);
  writeFileSync(join(cwd, "file"), "");
  expect(await check("--data", "file")).toEqual({
    code: 2,
    stdout: "",
    stderr: "--data: file is not a folder\n",
  });
});

describe.skipIf(!canRunPostgres)("sealed reasoning of clients", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  test("can still be used after the store was copied from PostgreSQL to a file, and back", async () => {
    const upstream = await testUpstream(reasoningScript);
    const env = { DATABASE_URL: server.url };
    const inDatabase = (schema: string) =>
      `[store]\nurl = "env:DATABASE_URL"\nschema = "${schema}"\n`;
    const start = (storeToml: string, dataFolder: string) =>
      testGateway(`${storeToml}${upstreamToml("up", upstream.url, { profile: "openrouter" })}`, {
        env,
        dataFolder,
      });
    const question = { role: "user", content: "Hi" };
    const first = await start(inDatabase("one"), temporaryFolder());
    const response = await first.post("/responses", {
      ...hello,
      input: [question],
      include: ["reasoning.encrypted_content"],
    });
    const reply = (await readEvents(response)).at(-1)?.["response"] as { output: JsonObject[] };
    const { output } = reply;
    expect(output[0]?.["encrypted_content"]).toMatch(/^dw1\./);
    await first.drain();

    /** Sends the answer back, and returns the reasoning that the model receives. */
    const getReceivedReasoning = async (gateway: typeof first): Promise<unknown> => {
      await (
        await gateway.post("/responses", { ...hello, input: [question, ...output, question] })
      ).text();
      const messages = upstream.requests.at(-1)?.body["messages"] as JsonObject[];
      return messages.find(({ role }) => role === "assistant")?.["reasoning_details"];
    };
    const key = await readSealingKey("one");
    const copies: string[] = [];
    const copy = async (cwd: string, ...args: string[]) => {
      const result = await runCommand(["store", "copy", ...args], { cwd, env });
      expect(result).toMatchObject({ code: 0, stderr: "" });
      copies.push(result.stdout);
    };

    // The data folder has a key of its own.
    const folder = temporaryFolder();
    await (await start("", folder)).drain();
    const path = join(folder, "copy.db");
    await copy(folder, "env:DATABASE_URL", path, "--schema", "one");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const second = await start(`[store]\npath = "${path}"\n`, folder);
    expect(await getReceivedReasoning(second)).toEqual(details);
    await second.drain();

    // A gateway has created a key in the target before the copy.
    await (await start(inDatabase("two"), temporaryFolder())).drain();
    await copy(folder, path, "env:DATABASE_URL", "--schema", "two");
    const third = await start(inDatabase("two"), temporaryFolder());
    expect(await getReceivedReasoning(third)).toEqual(details);
    await third.drain();

    expect(copies.join("")).not.toMatch(missingKeyNotice);
    const keyBytes = Buffer.from(key, "base64url");
    for (const shown of [...copies, ...first.lines, ...second.lines, ...third.lines])
      expect(shown).not.toContain(key);
    expect(readFileSync(join(folder, "seal.key")).equals(keyBytes)).toBe(false);
  });

  async function readSealingKey(schema: string): Promise<string> {
    const client = await connectToPostgres(server.url);
    const { rows } = await client.query<{ value: string }>(
      `SELECT value FROM ${schema}.shared_secrets WHERE name = 'sealing_key'`,
    );
    await client.end();
    expect(rows).toHaveLength(1);
    return rows[0]?.value ?? "";
  }
});

/** A server that stores objects like S3, in memory. */
async function startBucket() {
  const objects = new Map<string, Buffer>();
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? "";
    if (request.method === "PUT") objects.set(path, await buffer(request));
    if (request.method === "DELETE") objects.delete(path);
    const object = objects.get(path);
    response.statusCode = object === undefined && request.method !== "DELETE" ? 404 : 200;
    response.end(object === undefined ? "<Error><Code>NoSuchKey</Code></Error>" : object);
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/files`, objects };
}

describe.skipIf(!canRunPostgres)("a database with a bucket", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  test("is copied and checked with the bucket of the configuration that names the database", async () => {
    const bucket = await startBucket();
    const env = {
      DATABASE_URL: server.url,
      S3_ID: "id-of-the-key",
      S3_SECRET: "secret-of-the-key",
    };
    const s3 = { url: bucket.url, accessKeyId: env.S3_ID, secretAccessKey: env.S3_SECRET };
    const store = await openStore({ url: server.url, s3: { ...s3, minBytes: 1024 } });
    const bytes = new Uint8Array(5000).fill(7);
    const hash = await store.put(bytes, "image/png");
    await store.close();
    expect(bucket.objects.size).toBe(1);

    const toml = (schema: string) =>
      `[store]\nurl = "env:DATABASE_URL"\nschema = "${schema}"\ns3_url = "${bucket.url}"\ns3_min_kb = 1\n` +
      's3_access_key_id = "env:S3_ID"\ns3_secret_access_key = "env:S3_SECRET"\n';
    const cwd = temporaryFolder(toml("deltawire"));
    writeFileSync(join(cwd, "copy.toml"), toml("copied"));
    const run = (...args: string[]) => runCommand(["store", ...args], { cwd, env });
    const consistent = { code: 0, stdout: expect.stringContaining("is consistent") as string };
    expect(await run("check")).toMatchObject(consistent);
    expect(await run("check", "env:DATABASE_URL")).toMatchObject(consistent);
    expect(await run("copy", "env:DATABASE_URL", "copy.db")).toMatchObject({ code: 0, stderr: "" });
    const file = await openStore({ path: join(cwd, "copy.db"), readOnly: true });
    expect(await file.get(hash)).toEqual({ bytes, mediaType: "image/png" });
    await file.close();

    const intoCopy = ["copy", "copy.db", "env:DATABASE_URL", "--schema", "copied"];
    const copied = await run(...intoCopy, "--config", "copy.toml");
    expect(copied).toMatchObject({ code: 0, stderr: "" });
    expect(bucket.objects.size).toBe(2);
    // The bucket belongs to the other schema.
    expect(await run("check", "env:DATABASE_URL", "--schema", "copied")).toMatchObject({ code: 1 });
    expect(
      await run("check", "env:DATABASE_URL", "--schema", "copied", "--config", "copy.toml"),
    ).toMatchObject(consistent);
  });
});
