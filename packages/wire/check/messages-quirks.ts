import { existsSync, readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { startMessagesGateway, type CaseFlags } from "./messages-gateway.ts";

/** A case of a catalogue of the Messages API. Its runner knows the other fields. */
export interface MessagesCase {
  id: string;
  class: string;
  title: string;
  optional?: boolean;
  /** The rule of a strict upstream, by wire. */
  strict?: Record<string, string>;
}

/** The result of a case on one wire. */
export interface CaseResult {
  id: string;
  class: string;
  way: string;
  optional: boolean;
  ok: boolean;
  fails: string[];
}

/** The catalogue's own runner, upstream and judge, next to its cases. */
interface Runner {
  run(options: object): Promise<CaseResult[]>;
  requestCases(folder: string): MessagesCase[];
}

interface UpstreamModule {
  createUpstream(): Server;
}

/** The flags that a gateway learns from the rejections of each strict upstream. */
const strictFlags: Readonly<Record<string, CaseFlags>> = {
  "max-8192": { maxTokens: 8192 },
  "window-40960": { maxTokens: 40_960 - 16_384 },
  "needs-reasoning-content": {
    profile: {
      reasoningField: "reasoning_content",
      reasoningRange: "all",
      reasoningRequired: true,
    },
  },
  "needs-thinking": { messages: { unsignedThinking: true } },
};

/** Cases that need a configured server, or time, and not only the library. */
const serverCases = new Set(["S-SILENCE"]);

export interface MessagesQuirksOptions {
  /** The file of the cases, beside `run.mjs`, `upstream.mjs` and perhaps a folder `requests` of recorded requests. */
  file: string;
  cases: readonly MessagesCase[];
  /** True to pass each byte of a reply to the translators by itself. */
  isSplit: boolean;
  /** True to play the cases of upstreams for Messages clients, too. */
  passesMessages: boolean;
}

/** True for a file with `cases` next to the programs that play and judge them. */
export function isMessagesCatalog(file: string): boolean {
  const folder = dirname(file);
  const hasRunner = ["run.mjs", "upstream.mjs"].every((name) => existsSync(join(folder, name)));
  return hasRunner && existsSync(file) && /"cases"\s*:\s*\[/.test(readFileSync(file, "utf8"));
}

/** Plays the cases through the translators with the catalogue's own runner. */
export async function runMessagesQuirks(options: MessagesQuirksOptions): Promise<CaseResult[]> {
  const { file, isSplit, passesMessages } = options;
  const upstreamModule = (await import(
    pathToFileURL(join(dirname(file), "upstream.mjs")).href
  )) as UpstreamModule;
  const runner = (await import(pathToFileURL(join(dirname(file), "run.mjs")).href)) as Runner;
  const folder = join(dirname(file), "requests");
  const recorded = existsSync(folder) ? runner.requestCases(folder) : [];
  const cases = [...options.cases, ...recorded].filter(({ id }) => !serverCases.has(id));
  const upstream = upstreamModule.createUpstream();
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const { port } = upstream.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const strictById = new Map(cases.map(({ id, strict }) => [id.toLowerCase(), strict ?? {}]));
  const getFlags = (model: string): CaseFlags => {
    const strict = strictById.get(model.toLowerCase().replace(/^q-/, "")) ?? {};
    const [rule = ""] = Object.values(strict);
    return strictFlags[rule] ?? {};
  };
  const gateway = await startMessagesGateway({ upstream: `${origin}/v1`, isSplit, getFlags });
  try {
    return await runner.run({
      base: gateway.base,
      key: "x",
      upstream: origin,
      prefix: "up/",
      respPrefix: "upresp/",
      msgPrefix: "upmsg/",
      pass: passesMessages,
      cases,
    });
  } finally {
    gateway.close();
    upstream.close();
  }
}
