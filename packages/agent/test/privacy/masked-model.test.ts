import { Buffer } from "node:buffer";
import {
  ModelError,
  maskedModel,
  privacyRule,
  type Model,
  type RoundNotes,
  type Vault,
} from "@deltawire/agent";
import type { JsonObject, JsonValue, ResponseEvent, ResponsesRequest } from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { scriptedModel, type Saying } from "../scripted-model.ts";
import { cutAt, formsOf, newVault, values } from "./private-texts.ts";
import { statefulPattern, statefulText } from "./stateful-pattern.ts";

type Event = ResponseEvent | JsonObject;

const signal = new AbortController().signal;
const keepNothing = (): Promise<void> => Promise.resolve();
const base64 = (text: string, encoding: BufferEncoding = "utf8"): string =>
  Buffer.from(text, encoding).toString("base64");
const all = values.join("\n");

async function eventsOf(
  model: Model,
  request: ResponsesRequest,
  report?: (notes: RoundNotes) => void,
): Promise<Event[]> {
  const events: Event[] = [];
  for await (const batch of model.stream(request, signal, report)) events.push(...batch);
  return events;
}

/** A vault that knows all values: the first of each kind has the number 1. */
function vaultOfAll(): Vault {
  const vault = newVault();
  vault.mask(all);
  vault.takeFresh();
  return vault;
}

function joined(events: readonly Event[], type: string): string {
  return events
    .filter((event) => event["type"] === type)
    .map((event) => (event as { delta: string }).delta)
    .join("");
}

function only(events: readonly Event[], type: string): JsonObject {
  const found = events.filter((event) => event["type"] === type);
  expect(found).toHaveLength(1);
  return found[0] as JsonObject;
}

describe("what is sent", () => {
  const quoted = JSON.stringify({ all, [all]: [all, { deep: all }] });
  const request: ResponsesRequest = {
    model: "m-13812345678",
    instructions: `Rules of ${all}`,
    input: [
      { role: "user", content: all },
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: all },
          { type: "input_image", image_url: `https://x.example/${encodeURIComponent(all)}` },
          { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" },
          {
            type: "input_file",
            filename: `${values[0]}.txt`,
            file_data: `data:text/plain;base64,${base64(all)}`,
          },
          { type: "input_file", filename: "a.csv", file_data: base64(all) },
          {
            type: "input_file",
            filename: "b.txt",
            file_data: `data:text/plain;charset=utf-16;base64,${base64(`\uFEFF${all}`, "utf16le")}`,
          },
          { type: "input_file", file_data: `data:text/plain,${encodeURIComponent(all)}` },
          { type: "something_new", words: { inside: [all] } },
        ],
      },
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: all }],
        content: [{ type: "reasoning_text", text: all }],
        encrypted_content: "sealed-13812345678",
      },
      {
        type: "message",
        role: "assistant",
        content: [
          { type: "output_text", text: all, annotations: [{ type: "url_citation", title: all }] },
          { type: "refusal", refusal: all },
        ],
      },
      { type: "function_call", call_id: "call_1", name: "look_up", arguments: quoted },
      { type: "function_call_output", call_id: "call_1", output: quoted },
      { type: "function_call", call_id: "call_2", name: "look_up", arguments: `{"cut":"${all}` },
      {
        type: "function_call_output",
        call_id: "call_2",
        output: [{ type: "input_text", text: `Result: ${JSON.stringify(quoted)}` }],
      },
      { type: "custom_tool_call", call_id: "call_3", name: "run", input: all },
      { type: "local_shell_call", call_id: "call_4", action: { command: ["mail", all] } },
      { type: "image_generation_call", id: "ig_1", result: "iVBORw0KGgo=", revised_prompt: all },
    ],
    tools: [
      {
        type: "function",
        name: "look_up",
        description: `Looks up ${all}`,
        parameters: {
          type: "object",
          description: all,
          properties: {
            name: { type: "string", description: all, examples: [all], enum: [...values] },
            type: { type: "object", properties: { all: { default: { name: all } } } },
          },
          required: ["name"],
        },
      },
    ],
    text: {
      format: {
        type: "json_schema",
        name: "answer",
        schema: { type: "object", properties: { a: { title: all, anyOf: [{ const: all }] } } },
      },
    },
    metadata: { all, ids: "no value" },
    user: values[0],
    prompt_cache_key: "task-1",
    temperature: 0.5,
    store: false,
    stream: true,
  };

  /** Every text that can be read in a request, files included. */
  function readable(value: JsonValue | undefined): string[] {
    if (Array.isArray(value)) return value.flatMap(readable);
    if (typeof value === "object" && value !== null)
      return Object.entries(value).flatMap(([name, one]) => [name, ...readable(one)]);
    if (typeof value !== "string") return [];
    const file = Buffer.from(value.replace(/^data:[^,]*,/, ""), "base64");
    return [value, file.toString("utf8"), file.toString("utf16le")];
  }

  test("has no private value in any form, in any place", async () => {
    const upstream = scriptedModel([[{ text: "ok" }]]);
    await eventsOf(maskedModel(upstream, newVault(), keepNothing), request);
    const { model: _, input, ...sent } = upstream.asked[0] ?? {};
    const items = (input as JsonObject[]).map(({ encrypted_content: _sealed, ...item }) => item);
    const texts = readable({ ...sent, input: items as JsonValue[] });
    texts.push(
      JSON.stringify({ ...sent, input: items }),
      JSON.stringify(upstream.chat[0]?.messages),
    );
    for (const value of values)
      for (const form of formsOf(value))
        for (const text of texts)
          expect(text.replaceAll(/\{\{[A-Z]+_\d+_x7f3\}\}/g, "<>")).not.toContain(form);
  });

  test("keeps its names, words, ids, schemas and media", async () => {
    const upstream = scriptedModel([[{ text: "ok" }]]);
    const vault = newVault();
    await eventsOf(maskedModel(upstream, vault, keepNothing), request);
    const [sent] = upstream.asked;
    const input = sent?.input as JsonObject[];
    expect(sent?.model).toBe("m-13812345678");
    expect(input[2]).toMatchObject({ id: "rs_1", encrypted_content: "sealed-13812345678" });
    expect(input[1]?.["content"]).toContainEqual({
      type: "input_image",
      image_url: "data:image/png;base64,iVBORw0KGgo=",
    });
    expect(input.at(-1)).toMatchObject({ id: "ig_1", result: "iVBORw0KGgo=" });
    expect(input[4]).toMatchObject({ call_id: "call_1", name: "look_up" });
    // A value in JSON is the value itself: it has the placeholder that it has in a text.
    for (const text of [input[4]?.["arguments"], input[5]?.["output"]]) {
      expect(JSON.parse(vault.unmaskJson(text as string))).toEqual(JSON.parse(quoted));
      expect((JSON.parse(text as string) as JsonObject)["all"]).toBe(input[0]?.["content"]);
    }
    expect(sent?.tools?.[0]).toMatchObject({
      name: "look_up",
      parameters: { required: ["name"], properties: { name: { type: "string" }, type: {} } },
    });
    expect(sent).toMatchObject({ prompt_cache_key: "task-1", temperature: 0.5, store: false });
  });

  test("is the very request where nothing is private", async () => {
    let got: ResponsesRequest | undefined;
    const model: Model = {
      name: "m",
      async *stream(asked) {
        got = asked;
        yield [];
      },
    };
    const harmless: ResponsesRequest = { model: "m", input: [{ role: "user", content: "Hello" }] };
    const masked = maskedModel(model, newVault(), keepNothing);
    await eventsOf(masked, harmless);
    expect(got).toBe(harmless);
    expect(masked.name).toBe("m");
  });

  test("is the same in every round, and a value that a late part tells is masked in an early one", async () => {
    const upstream = scriptedModel([]);
    const model = maskedModel(upstream, newVault(), keepNothing);
    const asked: ResponsesRequest = {
      instructions: "The code is xs3cret-wordx.",
      input: [{ role: "user", content: "password: s3cret-word" }],
    };
    await eventsOf(model, asked);
    await eventsOf(model, asked);
    expect(upstream.asked[0]?.instructions).toBe("The code is x{{PASSWORD_1_x7f3}}x.");
    expect(upstream.asked[1]).toEqual(upstream.asked[0]);
  });

  test("is sent when its placeholders are kept, and not at all if they cannot be", async () => {
    const upstream = scriptedModel([]);
    const order: string[] = [];
    const asked: ResponsesRequest = { input: "ada@example.com" };
    const vault = newVault();
    const full = maskedModel(upstream, vault, () => Promise.reject(new Error("the disk is full")));
    await expect(eventsOf(full, asked)).rejects.toThrow("the disk is full");
    expect(upstream.asked).toEqual([]);
    const model = maskedModel(upstream, vault, async (fresh) => {
      await Promise.resolve();
      order.push(...fresh.map(({ value }) => value), `asked ${upstream.asked.length}`);
    });
    await eventsOf(model, asked);
    await eventsOf(model, asked);
    expect(order).toEqual(["ada@example.com", "asked 0"]);
    expect(upstream.asked).toHaveLength(2);
  });

  test.each<[string, ResponsesRequest]>([
    [
      "words that begin like a picture",
      {
        input: [
          { role: "user", content: `data:image/png;base64,iVBORw0= ${all}` },
          {
            type: "message",
            role: "user",
            content: [{ type: "input_text", text: `data:image/png;base64,${all}` }],
          },
        ],
      },
    ],
    [
      "an address that says it has bytes, and has words",
      {
        input: [
          {
            role: "user",
            content: [{ type: "input_image", image_url: `data:image/png;base64,${all}` }],
          },
        ],
      },
    ],
    [
      "data that says it has a format",
      {
        input: [
          { role: "user", content: "Hi" },
          { type: "note", data: all, format: "text" } as never,
        ],
      },
    ],
    [
      "the name of whoever said a message",
      { input: [{ type: "message", role: "user", name: all, content: "Hi" }] as never },
    ],
    [
      "a comment in a schema",
      {
        input: "Hi",
        tools: [
          {
            type: "function",
            name: "look",
            parameters: { type: "object", $comment: all, properties: { a: { $comment: all } } },
          },
        ],
      },
    ],
    [
      "options that tell who asks",
      { input: "Hi", user: all, safety_identifier: all, metadata: { [all]: all } },
    ],
  ])("has no private value in %s", async (_place, told) => {
    const upstream = scriptedModel([[{ text: "." }]]);
    await eventsOf(maskedModel(upstream, newVault(), keepNothing), told);
    const bytes = JSON.stringify(upstream.asked).toLowerCase();
    const found = values.filter((value) =>
      formsOf(value).some((form) => bytes.includes(form.toLowerCase())),
    );
    expect(found).toEqual([]);
  });

  test("has the rule as it is, whatever a person's own pattern finds", async () => {
    const upstream = scriptedModel([[{ text: "." }]]);
    const vault = newVault([
      { kind: "pattern", pattern: "(?<=code )[a-z]+", label: "code" },
      { kind: "text", value: "private values" },
    ]);
    const rule = privacyRule(vault);
    const instructions = `The code otter.\n\n${rule}\n\nThe code otter.`;
    await eventsOf(maskedModel(upstream, vault, keepNothing), { input: "Hi", instructions });
    const masked = "The code {{CODE_1_x7f3}}.";
    expect(upstream.asked[0]?.instructions).toBe(`${masked}\n\n${rule}\n\n${masked}`);
  });

  test("is nothing where a pattern is too complex", async () => {
    const upstream = scriptedModel([]);
    const vault = newVault([{ kind: "pattern", pattern: statefulPattern }]);
    const asked = eventsOf(maskedModel(upstream, vault, keepNothing), { input: statefulText });
    await expect(asked).rejects.toMatchObject({ name: "ModelError", code: "pattern_too_slow" });
    expect(upstream.asked).toEqual([]);
  });
});

describe("what comes back", () => {
  const plan = 'the "blue\\house" plan';
  const script: Saying[][] = [
    [
      { reasoning: ["Mail {{EMA", "IL_1_x7f3}}, {{", "TEXT_1_x7f3}}"] },
      { text: ["To {", "{EMAIL_1_x7f3}", "}: {{ te", "xt_1_x7f3 }} {{EMAIL_77_x7f3}} {{EMA"] },
      { call: "send", args: { to: "{{EMAIL_1_x7f3}}", "{{NAME_1_x7f3}}": "{{TEXT_1_x7f3}}!" } },
    ],
  ];

  test("has the values in deltas, parts, items and the whole reply", async () => {
    const model = maskedModel(scriptedModel(script), vaultOfAll(), keepNothing);
    const events = await eventsOf(model, {
      input: "go",
      tools: [{ type: "function", name: "send", parameters: {} }],
    });
    const text = `To ada@example.com: ${plan} {{EMAIL_77_x7f3}} {{EMA`;
    expect(joined(events, "response.output_text.delta")).toBe(text);
    expect(only(events, "response.output_text.done")["text"]).toBe(text);
    expect(only(events, "response.content_part.done")["part"]).toMatchObject({ text });
    const thought = `Mail ada@example.com, ${plan}`;
    expect(joined(events, "response.reasoning_summary_text.delta")).toBe(thought);
    expect(only(events, "response.reasoning_summary_text.done")["text"]).toBe(thought);
    const args = only(events, "response.function_call_arguments.done")["arguments"] as string;
    expect(joined(events, "response.function_call_arguments.delta")).toBe(args);
    expect(JSON.parse(args)).toEqual({ to: "ada@example.com", "Ada Lovelace": `${plan}!` });
    const { output } = only(events, "response.completed")["response"] as { output: JsonObject[] };
    expect(output).toMatchObject([
      { type: "reasoning", summary: [{ text: thought }] },
      { type: "message", content: [{ text }] },
      { type: "function_call", name: "send", arguments: args },
    ]);
    const done = events.filter(({ type }) => type === "response.output_item.done");
    expect(done.map((event) => (event as JsonObject)["item"])).toEqual(output);
    const numbers = events.map((event) => event["sequence_number"]);
    expect(numbers).toEqual(numbers.map((_, index) => index));
  });

  test("is the same wherever the stream is cut", async () => {
    const said = `{{EMAIL_1_x7f3}} {{{TEXT_1_x7f3}}} %7B%7BEMAIL_1_x7f3%7D%7D {{x}} ${plan} {{EMAIL`;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(400), { maxLength: 20 }), async (cuts) => {
        const vault = vaultOfAll();
        const pieces = cutAt(said, cuts).filter((piece) => piece !== "");
        const upstream = scriptedModel([[{ text: pieces }]], () => Promise.resolve());
        const events = await eventsOf(maskedModel(upstream, vault, keepNothing), { input: "go" });
        expect(joined(events, "response.output_text.delta")).toBe(vault.unmask(said));
        expect(only(events, "response.output_text.done")["text"]).toBe(vault.unmask(said));
      }),
      { numRuns: 60 },
    );
  });

  test("tells what is held back before the end of its text, its part, its item and the reply", async () => {
    const delta = (item_id: string, text: string): JsonObject => ({
      type: "response.output_text.delta",
      item_id,
      content_index: 0,
      delta: text,
      logprobs: [1],
    });
    const model: Model = {
      async *stream() {
        yield [delta("a", "1 {{"), delta("b", "2 {{"), delta("c", "3 {{"), delta("d", "4 {{")];
        yield [{ type: "response.output_text.done", item_id: "d", content_index: 0, text: "4 {{" }];
        yield [{ type: "response.content_part.done", item_id: "a", content_index: 0, part: {} }];
        yield [{ type: "response.output_item.done", item: { type: "message", id: "b" } }];
        yield [{ type: "response.completed", response: { output: [] } }];
      },
    };
    const events = await eventsOf(maskedModel(model, newVault(), keepNothing), { input: "go" });
    const told = events.map((event) => (event as JsonObject)["delta"] ?? event["type"]);
    expect(told).toEqual([
      "1 ",
      "2 ",
      "3 ",
      "4 ",
      "{{",
      "response.output_text.done",
      "{{",
      "response.content_part.done",
      "{{",
      "response.output_item.done",
      "{{",
      "response.completed",
    ]);
    expect(events[4]).toEqual({ ...delta("d", "{{"), logprobs: [] });
  });

  test("ends with what was said where it breaks off or fails, and names no placeholder to people", async () => {
    const broken = (error?: Error): Model => ({
      async *stream() {
        yield [{ type: "response.output_text.delta", item_id: "a", delta: "so {{EMAIL" }];
        if (error !== undefined) throw error;
      },
    });
    const events = await eventsOf(maskedModel(broken(), newVault(), keepNothing), {});
    expect(joined(events, "response.output_text.delta")).toBe("so {{EMAIL");
    const failure = new ModelError("bad_input", "who is {{EMAIL_1_x7f3}}?", { retryable: true });
    const seen: Event[] = [];
    const failed = (async () => {
      const model = maskedModel(broken(failure), vaultOfAll(), keepNothing);
      for await (const batch of model.stream({}, signal)) seen.push(...batch);
    })();
    await expect(failed).rejects.toMatchObject({
      code: "bad_input",
      message: "who is ada@example.com?",
      retryable: true,
    });
    expect(joined(seen, "response.output_text.delta")).toBe("so {{EMAIL");
  });

  test("ends when it is aborted, with its connection", async () => {
    const stopping = new AbortController();
    const upstream = scriptedModel([[{ text: "one {{" }, { wait: new Promise(() => undefined) }]]);
    const model = maskedModel(upstream, newVault(), keepNothing);
    const seen: Event[] = [];
    const run = (async () => {
      for await (const batch of model.stream({ input: "go" }, stopping.signal)) {
        seen.push(...batch);
        if (joined(seen, "response.output_text.delta") !== "") stopping.abort(new Error("stop"));
      }
    })();
    await expect(run).rejects.toThrow("stop");
    expect(upstream.open).toBe(0);
  });

  test("closes the model's stream when nobody listens any more", async () => {
    const upstream = scriptedModel([[{ text: ["one", "two", "three"] }]]);
    for await (const batch of maskedModel(upstream, newVault(), keepNothing).stream(
      { input: "go" },
      signal,
    ))
      if (batch.length > 0) break;
    expect(upstream.open).toBe(0);
  });

  test("is reported as the model reports it", async () => {
    const notes: RoundNotes[] = [];
    const model = maskedModel(scriptedModel([[{ text: "ok" }]]), newVault(), keepNothing);
    await eventsOf(model, { input: "go" }, (told) => notes.push(told));
    expect(notes).toEqual([{ repairs: expect.anything() }]);
  });
});
