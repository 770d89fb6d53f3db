import type { AttackCase, AttackPart } from "../cases.ts";
import { send } from "../client.ts";
import { RawConnection } from "../connections.ts";
import { findEndFaults } from "../judge-reply.ts";
import { sendScriptedReply } from "../scripted-model.ts";
import { createSecret, SecretScanner } from "../secrets.ts";
import { goodText } from "../upstream/good-replies.ts";
import { startHostileUpstream } from "../upstream/hostile-upstream.ts";
import { helloBodies, wirePaths, wires, type Wire } from "../wires.ts";
import * as zlib from "node:zlib";
import { createChatCases } from "./chats.ts";
import { createMachineCases } from "./machine.ts";
import { injectedHeader, knownReplies, splittingReply, splittingVariants } from "./replies.ts";

/** A complete reply must reach its client within this time. */
const endMs = 10_000;

/** Creates the attacks that once succeeded and are not in the tables of the other parts, with the sizes that they used. */
export async function createKnownPart(
  token: string,
  isSelected: (name: string) => boolean,
): Promise<AttackPart> {
  const key = createSecret("key of the known upstream");
  const upstream = await startHostileUpstream((path, body) => {
    if (!/\/(?:responses|chat\/completions|messages)$/.test(path)) return splittingReply;
    return knownReplies[body["model"] as string] ?? sendScriptedReply;
  });
  const secrets = new SecretScanner({ "the key of the upstream": key, "the token": token });
  const cases = [
    ...createReplyCases(token),
    ...createRequestCases(token),
    ...createChatCases(token),
    ...createMachineCases(),
  ];
  return {
    name: "known attacks",
    toml: `${wires.map((wire) => `[upstreams.${wire}]\nbase_url = "${upstream.url}/v1"\nspeaks = "${wire}"\napi_key = "${key}"\nmodels = ["m"]\nretries = 0\nidle_timeout_seconds = 5\n`).join("")}[chats]\nmodel = "chat/m"\ntitles = false\n[agents.helper]\nmodel = "chat/m"\n`,
    cases: cases.filter(({ name }) => isSelected(name)),
    concurrency: 3,
    secrets,
    close: () => upstream.close(),
  };
}

/** Returns what is wrong with a known model's reply, for all client APIs, these upstream APIs, streaming or not. */
async function findWireFaults(
  url: string,
  token: string,
  model: string,
  upstreams: readonly Wire[],
  findFault: (status: number, text: string) => string | undefined,
): Promise<string[]> {
  const faults: string[] = [];
  for (const upstream of upstreams)
    for (const wire of wires)
      for (const stream of [true, false]) {
        const body = {
          model: `${upstream}/${model}`,
          stream,
          ...helloBodies[wire],
        };
        const reply = await send(url, {
          path: wirePaths[wire],
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify(body),
          timeoutMs: endMs,
        });
        const replyFaults = [
          ...findEndFaults(reply),
          ...[findFault(reply.status, reply.text) ?? []].flat(),
        ];
        faults.push(
          ...replyFaults.map(
            (replyFault) =>
              `${wire} on ${upstream}, ${stream ? "streamed" : "complete"}: ${replyFault}`,
          ),
        );
      }
  return faults;
}

function createReplyCases(token: string): AttackCase[] {
  return [
    ...["empty", "false", "null", "zero"].map((kind): AttackCase => ({
      name: `good replies whose error is ${kind}`,
      requests: 36,
      async run({ url }) {
        const runOnce = (): Promise<string[]> =>
          findWireFaults(url, token, `${kind}-error`, wires, (status, text) =>
            status === 200 && text.includes(goodText)
              ? undefined
              : `${status} ${text.slice(0, 300)}`,
          );
        // The second request shows if the first was counted as a failure of the upstream.
        return [...(await runOnce()), ...(await runOnce())];
      },
    })),
    {
      name: "a Responses upstream that ends with response.cancelled",
      requests: 6,
      run: ({ url }) =>
        findWireFaults(url, token, "cancelled", ["responses"], (status) =>
          status === 500 ? "status 500" : undefined,
        ),
    },
    {
      name: "headers of an upstream that split the reply",
      requests: splittingVariants * 4,
      async run({ url }) {
        const faults: string[] = [];
        for (let variant = 0; variant < splittingVariants; variant += 1)
          for (const path of [
            "/v1/embeddings",
            "/v1/images/generations",
            "/v1/audio/speech",
            "/v1/audio/transcriptions",
          ]) {
            const connection = new RawConnection(url);
            const isUpload = path.endsWith("transcriptions");
            const body = isUpload
              ? `--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nchat/v${variant}\r\n--x--\r\n`
              : JSON.stringify({ model: `chat/v${variant}`, input: "x", voice: "y", prompt: "z" });
            await connection.write(
              `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: ${isUpload ? "multipart/form-data; boundary=x" : "application/json"}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
            );
            if (!(await connection.until(() => connection.isClosed, endMs)))
              faults.push(`${path}: no end`);
            const { received } = connection;
            connection.destroy();
            if (
              received.split("\r\n").some((line) => line.startsWith(injectedHeader)) ||
              connection.statuses.length !== 1
            )
              faults.push(`${path}, variant ${variant}: ${received.slice(0, 500)}`);
            if (connection.statuses.includes(500))
              faults.push(`${path}, variant ${variant}: ${received.slice(0, 500)}`);
          }
        return faults;
      },
    },
  ];
}

const spaces = " ".repeat(31_000);
const acceptEncodings: Record<string, string> = {
  "leading spaces": `${spaces}gzip`,
  "spaces before the semicolon": `gzip${spaces};q=1`,
  "spaces after the semicolon": `gzip;${spaces}q=1,${spaces.slice(0, 10)}br`,
  "spaces between unknown encodings": `x${spaces}x`,
  tabs: `gzip${"\t".repeat(31_000)}x`,
  commas: ",".repeat(31_000),
  semicolons: `gzip${";".repeat(31_000)}`,
  digits: `gzip;q=0.${"0".repeat(31_000)}`,
};

function createRequestCases(token: string): AttackCase[] {
  return [
    ...Object.entries(acceptEncodings).map(([name, value]): AttackCase => ({
      name: `ten pipelined requests with an Accept-Encoding of 31 KB: ${name}`,
      requests: 30,
      async run({ url }) {
        const faults: string[] = [];
        for (const path of ["/", "/openapi.json", "/assets/x.js"]) {
          const connection = new RawConnection(url);
          await connection.write(
            `GET ${path} HTTP/1.1\r\nhost: localhost\r\naccept-encoding: ${value}\r\n\r\n`.repeat(
              10,
            ),
          );
          const isDone = (): boolean => connection.isClosed || connection.statuses.length >= 10;
          if (!(await connection.until(isDone, 20_000)))
            faults.push(`${path}: ${connection.statuses.length} of 10 answers`);
          if (connection.statuses.includes(500)) faults.push(`${path}: 500`);
          connection.destroy();
        }
        return faults;
      },
    })),
    {
      name: "a hundred pipelined requests for /openapi.json",
      requests: 100,
      async run({ url }) {
        const connection = new RawConnection(url);
        await connection.write("GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(100));
        const isDone = (): boolean => connection.isClosed || connection.statuses.length >= 100;
        const isComplete = await connection.until(isDone, 30_000);
        connection.destroy();
        return isComplete ? [] : [`${connection.statuses.length} of 100 answers`];
      },
    },
    ...Object.entries(largeBodies).map(([name, { path, body }]): AttackCase => ({
      name,
      alone: true,
      async run({ url }) {
        const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
        const reply = await send(url, { path, headers, body: body() });
        return [...findEndFaults(reply), ...(reply.status === 500 ? ["status 500"] : [])];
      },
    })),
    {
      name: "six zstd bodies at once that decompress to 60 MB of {},",
      requests: 6,
      alone: true,
      async run({ url }) {
        bomb ??= zlib.zstdCompressSync(
          Buffer.from(`{"model":"chat/m","input":[${"{},".repeat(20_000_000)}{}]}`),
        );
        const body = bomb;
        const headers = {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "content-encoding": "zstd",
        };
        const replies = await Promise.all(
          Array.from({ length: 6 }, () => send(url, { path: "/v1/responses", headers, body })),
        );
        return replies.flatMap((reply) => [
          ...findEndFaults(reply),
          ...(reply.status === 500 ? ["status 500"] : []),
        ]);
      },
    },
  ];
}

const buildChatBody = (content: string): string =>
  `{"model":"chat/m","messages":[{"role":"user","content":"${content}"}]}`;

const largeBodies: Readonly<Record<string, { path: string; body: () => string }>> = {
  "a body of 40 MB of backslashes": {
    path: "/v1/chat/completions",
    body: () => buildChatBody("\\\\".repeat(20_000_000)),
  },
  "a body of 60 MB of letters": {
    path: "/v1/chat/completions",
    body: () => buildChatBody("a".repeat(60_000_000)),
  },
  "a body of 60 MB of letters, for the Responses API": {
    path: "/v1/responses",
    body: () => `{"model":"chat/m","input":"${"a".repeat(60_000_000)}"}`,
  },
  "a body of 60 MB of Chinese characters": {
    path: "/v1/chat/completions",
    body: () => buildChatBody("中".repeat(20_000_000)),
  },
  "a UI message of 40,000 parts": {
    path: "/api/ui-messages",
    body: () => buildUiMessageBody(40_000),
  },
  "a UI message of 10,000 parts, the most": {
    path: "/api/ui-messages",
    body: () => buildUiMessageBody(10_000),
  },
};

function buildUiMessageBody(count: number): string {
  const parts = Array.from({ length: count }, (_, index) => ({
    type: "text",
    text: `part ${index}`,
  }));
  return JSON.stringify({ agent: "helper", messages: [{ id: "m", role: "user", parts }] });
}

let bomb: Uint8Array | undefined;
