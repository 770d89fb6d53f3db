import { ModelError, type RoundNotes } from "@deltawire/agent";
import { asText, type JsonObject } from "@deltawire/wire";
import { afterEach, expect } from "vitest";
import { readConfig } from "../src/config/read.ts";
import { startDemo, type Demo, type DemoOptions } from "@deltawire/demo";
import type { RoundLine } from "../src/log.ts";
import type { MediaType } from "../src/media/endpoint-call.ts";
import { mediaModel } from "../src/media/media-model.ts";
import { Envelopes } from "../src/reasoning/envelope.ts";
import { Relay } from "../src/relay/relay.ts";
import { upstreamToml } from "./running-gateway.ts";
import { scriptedUpstream, type Script, type ScriptedUpstream } from "./scripted-upstream.ts";

const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

export const key = "key-of-the-upstream-0123456789";
const noEvent: (event: JsonObject) => void = () => undefined;
const never = new AbortController().signal;

export async function aDemo(options: DemoOptions = {}): Promise<Demo> {
  const demo = await startDemo(options);
  open.push(demo);
  return demo;
}

export async function aServer(script: Script): Promise<ScriptedUpstream> {
  const upstream = await scriptedUpstream(script);
  open.push(upstream);
  return upstream;
}

interface Telling {
  name?: string;
  media?: JsonObject;
  signal?: AbortSignal;
  onEvent?: (event: JsonObject) => void;
}

/** Upstreams `up`, `up2` and so on at these addresses, and models of theirs. */
export function stage(urls: readonly string[], settings: Record<string, string | number> = {}) {
  const names = urls.map((_, at) => (at === 0 ? "up" : `up${at + 1}`));
  const toml = urls
    .map((url, at) => upstreamToml(names[at] ?? "", url, { api_key: key, ...settings }))
    .join("\n");
  const config = readConfig(toml, { file: "deltawire.toml", env: {} });
  const relay = new Relay(config, new Envelopes(Buffer.alloc(32, 1)), {});
  open.push(relay);
  const rounds: RoundLine[] = [];
  const notes: RoundNotes[] = [];
  const model = (type: MediaType, name = "m") =>
    mediaModel(
      {
        relay,
        targetsOf: async (asked) => names.map((upstream) => ({ upstream, model: asked })),
        onRound: (line) => void rounds.push(line),
        progressMs: 20,
      },
      name,
      type,
    );

  async function tell(
    type: MediaType,
    content: string | JsonObject[],
    { name = "m", media = {}, signal = never, onEvent = noEvent }: Telling = {},
  ): Promise<JsonObject[]> {
    const input = [{ type: "message" as const, role: "user" as const, content }];
    const request = { input, media, temperature: 1, prompt_cache_key: "task_1" } as JsonObject;
    const events: JsonObject[] = [];
    const report = (told: RoundNotes): void => void notes.push(told);
    for await (const batch of model(type, name).stream(request, signal, report))
      for (const event of batch as JsonObject[]) {
        events.push(event);
        onEvent(event);
      }
    return events;
  }

  const failing = (...args: Parameters<typeof tell>): Promise<ModelError> =>
    tell(...args).then(
      () => expect.fail("it was answered"),
      (error: unknown) => {
        expect(error).toBeInstanceOf(ModelError);
        return error as ModelError;
      },
    );

  return { relay, rounds, notes, model, tell, failing };
}

/** Without what is told while one waits. */
export function answers(events: readonly JsonObject[]): JsonObject[] {
  return events.filter(({ type }) => type !== "deltawire.progress");
}

export function typesOf(events: readonly JsonObject[]): string[] {
  return answers(events).map(({ type }) => asText(type).replace("response.", ""));
}

/** The items that are whole, without their ids. */
export function itemsOf(events: readonly JsonObject[]): JsonObject[] {
  return events
    .filter(({ type }) => type === "response.output_item.done")
    .map(({ item }) => {
      const { id, ...rest } = item as JsonObject;
      expect(id).toEqual(expect.any(String));
      return rest;
    });
}

/** What the last event says. */
export function endOf(events: readonly JsonObject[]): JsonObject {
  const { type, response } = events.at(-1) ?? {};
  const { usage, error } = response as JsonObject;
  return { type, usage, error };
}

export function textOf(events: readonly JsonObject[]): string {
  const deltas = events.filter(({ type }) => type === "response.output_text.delta");
  return deltas.map(({ delta }) => asText(delta)).join("");
}

export const dataUrl = (bytes: Buffer, type: string): string =>
  `data:${type};base64,${bytes.toString("base64")}`;
