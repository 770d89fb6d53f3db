import { ModelError, type RoundReport } from "@deltawire/agent";
import { asString, type JsonObject } from "@deltawire/wire";
import { afterEach, expect } from "vitest";
import { parseConfig } from "../src/config/parse-config.ts";
import { startDemoServer, type DemoServer, type DemoServerOptions } from "@deltawire/demo";
import type { ModelRoundLogEntry } from "../src/log.ts";
import type { MediaModelType } from "../src/media/endpoint-request.ts";
import { createMediaModel } from "../src/media/media-model.ts";
import { EnvelopeCipher } from "../src/reasoning/envelope-cipher.ts";
import { Relay } from "../src/relay/relay.ts";
import { upstreamToml } from "./test-gateway.ts";
import {
  scriptedUpstream,
  type UpstreamScript,
  type ScriptedUpstream,
} from "./scripted-upstream.ts";

const openResources: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of openResources.splice(0).toReversed()) await one.close();
});

export const upstreamKey = "key-of-the-upstream-0123456789";
const noEvent: (event: JsonObject) => void = () => undefined;
const never = new AbortController().signal;

export async function startTestDemo(options: DemoServerOptions = {}): Promise<DemoServer> {
  const demo = await startDemoServer(options);
  openResources.push(demo);
  return demo;
}

export async function startTestUpstream(script: UpstreamScript): Promise<ScriptedUpstream> {
  const upstream = await scriptedUpstream(script);
  openResources.push(upstream);
  return upstream;
}

interface MediaRequestOptions {
  name?: string;
  media?: JsonObject;
  signal?: AbortSignal;
  onEvent?: (event: JsonObject) => void;
}

/** Creates upstreams `up`, `up2` and so on with these URLs, and their models. */
export function mediaFixture(
  urls: readonly string[],
  settings: Record<string, string | number> = {},
) {
  const names = urls.map((_, index) => (index === 0 ? "up" : `up${index + 1}`));
  const toml = urls
    .map((url, index) =>
      upstreamToml(names[index] ?? "", url, { api_key: upstreamKey, ...settings }),
    )
    .join("\n");
  const config = parseConfig(toml, { file: "deltawire.toml", env: {} });
  const relay = new Relay(config, new EnvelopeCipher(Buffer.alloc(32, 1)), {});
  openResources.push(relay);
  const rounds: ModelRoundLogEntry[] = [];
  const notes: RoundReport[] = [];
  const model = (type: MediaModelType, name = "m") =>
    createMediaModel(
      {
        relay,
        resolveTargets: async (model) => names.map((upstream) => ({ upstream, model })),
        onRound: (line) => void rounds.push(line),
        progressIntervalMs: 20,
      },
      name,
      type,
    );

  async function runModel(
    type: MediaModelType,
    content: string | JsonObject[],
    { name = "m", media = {}, signal = never, onEvent = noEvent }: MediaRequestOptions = {},
  ): Promise<JsonObject[]> {
    const input = [{ type: "message" as const, role: "user" as const, content }];
    const request = { input, media, temperature: 1, prompt_cache_key: "task_1" } as JsonObject;
    const events: JsonObject[] = [];
    const report = (roundNotes: RoundReport): void => void notes.push(roundNotes);
    for await (const batch of model(type, name).stream(request, signal, report))
      for (const event of batch as JsonObject[]) {
        events.push(event);
        onEvent(event);
      }
    return events;
  }

  const runFailingModel = (...args: Parameters<typeof runModel>): Promise<ModelError> =>
    runModel(...args).then(
      () => expect.fail("the request succeeded"),
      (error: unknown) => {
        expect(error).toBeInstanceOf(ModelError);
        return error as ModelError;
      },
    );

  return { relay, rounds, notes, model, runModel, runFailingModel };
}

/** Removes progress events. */
export function withoutProgress(events: readonly JsonObject[]): JsonObject[] {
  return events.filter(({ type }) => type !== "deltawire.progress");
}

export function listMediaEventTypes(events: readonly JsonObject[]): string[] {
  return withoutProgress(events).map(({ type }) => asString(type).replace("response.", ""));
}

/** Returns the complete items, without their ids. */
export function listOutputItems(events: readonly JsonObject[]): JsonObject[] {
  return events
    .filter(({ type }) => type === "response.output_item.done")
    .map(({ item }) => {
      const { id, ...rest } = item as JsonObject;
      expect(id).toEqual(expect.any(String));
      return rest;
    });
}

/** Returns the last event. */
export function getFinalEvent(events: readonly JsonObject[]): JsonObject {
  const { type, response } = events.at(-1) ?? {};
  const { usage, error } = response as JsonObject;
  return { type, usage, error };
}

export function joinTextDeltas(events: readonly JsonObject[]): string {
  const deltas = events.filter(({ type }) => type === "response.output_text.delta");
  return deltas.map(({ delta }) => asString(delta)).join("");
}

export const encodeDataUrl = (bytes: Buffer, type: string): string =>
  `data:${type};base64,${bytes.toString("base64")}`;
