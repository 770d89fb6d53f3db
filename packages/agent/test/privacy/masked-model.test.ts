import { Buffer } from "node:buffer";
import {
  ModelError,
  createMaskedModel,
  buildPrivacyRule,
  type Model,
  type RoundReport,
  type Vault,
} from "@deltawire/agent";
import type { JsonObject, JsonValue, ResponseEvent, ResponsesRequest } from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { scriptedModel, type ScriptStep } from "../scripted-model.ts";
import { splitAt, listEncodings, newPlaceholderStore, newVault, values } from "./private-texts.ts";
import { statefulPattern, statefulText } from "./stateful-pattern.ts";

type Event = ResponseEvent | JsonObject;

const signal = new AbortController().signal;
const storeNothing = newPlaceholderStore();
const base64 = (text: string, encoding: BufferEncoding = "utf8"): string =>
  Buffer.from(text, encoding).toString("base64");
const all = values.join("\n");

async function collectEvents(
  model: Model,
  request: ResponsesRequest,
  report?: (notes: RoundReport) => void,
): Promise<Event[]> {
  const events: Event[] = [];
  for await (const batch of model.stream(request, signal, report)) events.push(...batch);
  return events;
}

/** A vault that knows all values: the first of each kind has the number 1. */
function createVaultWithValues(): Vault {
  const vault = newVault();
  vault.mask(all);
  vault.takeNewPlaceholders();
  return vault;
}

function joinDeltas(events: readonly Event[], type: string): string {
  return events
    .filter((event) => event["type"] === type)
    .map((event) => (event as { delta: string }).delta)
    .join("");
}

function findOnly(events: readonly Event[], type: string): JsonObject {
  const found = events.filter((event) => event["type"] === type);
  expect(found).toHaveLength(1);
  return found[0] as JsonObject;
}

describe("a masked request", () => {
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

  /** Returns every readable text in a request, including the content of files. */
  function listTexts(value: JsonValue | undefined): string[] {
    if (Array.isArray(value)) return value.flatMap(listTexts);
    if (typeof value === "object" && value !== null)
      return Object.entries(value).flatMap(([name, one]) => [name, ...listTexts(one)]);
    if (typeof value !== "string") return [];
    const file = Buffer.from(value.replace(/^data:[^,]*,/, ""), "base64");
    return [value, file.toString("utf8"), file.toString("utf16le")];
  }

  test("contains no private value in any encoding, in any field", async () => {
    const upstream = scriptedModel([[{ text: "ok" }]]);
    await collectEvents(createMaskedModel(upstream, newVault(), storeNothing), request);
    const { model: _, input, ...sent } = upstream.requests[0] ?? {};
    const items = (input as JsonObject[]).map(({ encrypted_content: _sealed, ...item }) => item);
    const texts = listTexts({ ...sent, input: items as JsonValue[] });
    texts.push(
      JSON.stringify({ ...sent, input: items }),
      JSON.stringify(upstream.chatRequests[0]?.messages),
    );
    for (const value of values)
      for (const form of listEncodings(value))
        for (const text of texts)
          expect(text.replaceAll(/\{\{[A-Z]+_\d+_x7f3\}\}/g, "<>")).not.toContain(form);
  });

  test("keeps names, keywords, ids, schemas and media", async () => {
    const upstream = scriptedModel([[{ text: "ok" }]]);
    const vault = newVault();
    await collectEvents(createMaskedModel(upstream, vault, storeNothing), request);
    const [sent] = upstream.requests;
    const input = sent?.input as JsonObject[];
    expect(sent?.model).toBe("m-13812345678");
    expect(input[2]).toMatchObject({ id: "rs_1", encrypted_content: "sealed-13812345678" });
    expect(input[1]?.["content"]).toContainEqual({
      type: "input_image",
      image_url: "data:image/png;base64,iVBORw0KGgo=",
    });
    expect(input.at(-1)).toMatchObject({ id: "ig_1", result: "iVBORw0KGgo=" });
    expect(input[4]).toMatchObject({ call_id: "call_1", name: "look_up" });
    // A value within JSON gets the same placeholder as in plain text.
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

  test("is passed on as the same object if nothing is private", async () => {
    let sentRequest: ResponsesRequest | undefined;
    const model: Model = {
      name: "m",
      async *stream(request) {
        sentRequest = request;
        yield [];
      },
    };
    const harmless: ResponsesRequest = { model: "m", input: [{ role: "user", content: "Hello" }] };
    const masked = createMaskedModel(model, newVault(), storeNothing);
    await collectEvents(masked, harmless);
    expect(sentRequest).toBe(harmless);
    expect(masked.name).toBe("m");
  });

  test("is masked in the same way in every round, and a value found in a later part is masked in earlier parts", async () => {
    const upstream = scriptedModel([]);
    const model = createMaskedModel(upstream, newVault(), storeNothing);
    const modelRequest: ResponsesRequest = {
      instructions: "The code is xs3cret-wordx.",
      input: [{ role: "user", content: "password: s3cret-word" }],
    };
    await collectEvents(model, modelRequest);
    await collectEvents(model, modelRequest);
    expect(upstream.requests[0]?.instructions).toBe("The code is x{{PASSWORD_1_x7f3}}x.");
    expect(upstream.requests[1]).toEqual(upstream.requests[0]);
  });

  test("is sent after its placeholders are stored, and not at all if storing fails", async () => {
    const upstream = scriptedModel([]);
    const order: string[] = [];
    const modelRequest: ResponsesRequest = { input: "ada@example.com" };
    const vault = newVault();
    const fullStore = newPlaceholderStore(() => Promise.reject(new Error("the disk is full")));
    const full = createMaskedModel(upstream, vault, fullStore);
    await expect(collectEvents(full, modelRequest)).rejects.toThrow("the disk is full");
    expect(upstream.requests).toEqual([]);
    const store = newPlaceholderStore(async (added) => {
      await Promise.resolve();
      order.push(...added.map(({ value }) => value), `requests: ${upstream.requests.length}`);
    });
    const model = createMaskedModel(upstream, vault, store);
    await collectEvents(model, modelRequest);
    await collectEvents(model, modelRequest);
    expect(order).toEqual(["ada@example.com", "requests: 0"]);
    expect(upstream.requests).toHaveLength(2);
  });

  test.each<[string, ResponsesRequest]>([
    [
      "text that starts like an image",
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
      "a data URL with text instead of base64",
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
      "a field named data next to a format",
      {
        input: [
          { role: "user", content: "Hi" },
          { type: "note", data: all, format: "text" } as never,
        ],
      },
    ],
    [
      "the name of a message's author",
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
      "options that identify the user",
      { input: "Hi", user: all, safety_identifier: all, metadata: { [all]: all } },
    ],
  ])("contains no private value in %s", async (_place, request) => {
    const upstream = scriptedModel([[{ text: "." }]]);
    await collectEvents(createMaskedModel(upstream, newVault(), storeNothing), request);
    const bytes = JSON.stringify(upstream.requests).toLowerCase();
    const found = values.filter((value) =>
      listEncodings(value).some((form) => bytes.includes(form.toLowerCase())),
    );
    expect(found).toEqual([]);
  });

  test("contains the privacy rule unchanged, even if a custom pattern matches in it", async () => {
    const upstream = scriptedModel([[{ text: "." }]]);
    const vault = newVault([
      { kind: "pattern", pattern: "(?<=code )[a-z]+", label: "code" },
      { kind: "text", value: "private values" },
    ]);
    const rule = buildPrivacyRule(vault);
    const instructions = `The code otter.\n\n${rule}\n\nThe code otter.`;
    await collectEvents(createMaskedModel(upstream, vault, storeNothing), {
      input: "Hi",
      instructions,
    });
    const masked = "The code {{CODE_1_x7f3}}.";
    expect(upstream.requests[0]?.instructions).toBe(`${masked}\n\n${rule}\n\n${masked}`);
  });

  test("is not sent if a pattern is too complex", async () => {
    const upstream = scriptedModel([]);
    const vault = newVault([{ kind: "pattern", pattern: statefulPattern }]);
    const events = collectEvents(createMaskedModel(upstream, vault, storeNothing), {
      input: statefulText,
    });
    await expect(events).rejects.toMatchObject({ name: "ModelError", code: "pattern_too_slow" });
    expect(upstream.requests).toEqual([]);
  });
});

describe("an unmasked reply", () => {
  const plan = 'the "blue\\house" plan';
  const script: ScriptStep[][] = [
    [
      { reasoning: ["Mail {{EMA", "IL_1_x7f3}}, {{", "TEXT_1_x7f3}}"] },
      { text: ["To {", "{EMAIL_1_x7f3}", "}: {{ te", "xt_1_x7f3 }} {{EMAIL_77_x7f3}} {{EMA"] },
      { call: "send", args: { to: "{{EMAIL_1_x7f3}}", "{{NAME_1_x7f3}}": "{{TEXT_1_x7f3}}!" } },
    ],
  ];

  test("contains the values in deltas, parts, items and the complete response", async () => {
    const model = createMaskedModel(scriptedModel(script), createVaultWithValues(), storeNothing);
    const events = await collectEvents(model, {
      input: "go",
      tools: [{ type: "function", name: "send", parameters: {} }],
    });
    const text = `To ada@example.com: ${plan} {{EMAIL_77_x7f3}} {{EMA`;
    expect(joinDeltas(events, "response.output_text.delta")).toBe(text);
    expect(findOnly(events, "response.output_text.done")["text"]).toBe(text);
    expect(findOnly(events, "response.content_part.done")["part"]).toMatchObject({ text });
    const thought = `Mail ada@example.com, ${plan}`;
    expect(joinDeltas(events, "response.reasoning_summary_text.delta")).toBe(thought);
    expect(findOnly(events, "response.reasoning_summary_text.done")["text"]).toBe(thought);
    const args = findOnly(events, "response.function_call_arguments.done")["arguments"] as string;
    expect(joinDeltas(events, "response.function_call_arguments.delta")).toBe(args);
    expect(JSON.parse(args)).toEqual({ to: "ada@example.com", "Ada Lovelace": `${plan}!` });
    const { output } = findOnly(events, "response.completed")["response"] as {
      output: JsonObject[];
    };
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

  test("is the same however the stream is split", async () => {
    const reply = `{{EMAIL_1_x7f3}} {{{TEXT_1_x7f3}}} %7B%7BEMAIL_1_x7f3%7D%7D {{x}} ${plan} {{EMAIL`;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(400), { maxLength: 20 }), async (cuts) => {
        const vault = createVaultWithValues();
        const pieces = splitAt(reply, cuts).filter((piece) => piece !== "");
        const upstream = scriptedModel([[{ text: pieces }]], () => Promise.resolve());
        const events = await collectEvents(createMaskedModel(upstream, vault, storeNothing), {
          input: "go",
        });
        expect(joinDeltas(events, "response.output_text.delta")).toBe(vault.unmask(reply));
        expect(findOnly(events, "response.output_text.done")["text"]).toBe(vault.unmask(reply));
      }),
      { numRuns: 60 },
    );
  });

  test("contains held back text before the end of its text, part, item or response", async () => {
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
    const events = await collectEvents(createMaskedModel(model, newVault(), storeNothing), {
      input: "go",
    });
    const summary = events.map((event) => (event as JsonObject)["delta"] ?? event["type"]);
    expect(summary).toEqual([
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

  test("includes held back text if it ends early or fails, and errors contain values instead of placeholders", async () => {
    const broken = (error?: Error): Model => ({
      async *stream() {
        yield [{ type: "response.output_text.delta", item_id: "a", delta: "so {{EMAIL" }];
        if (error !== undefined) throw error;
      },
    });
    const events = await collectEvents(createMaskedModel(broken(), newVault(), storeNothing), {});
    expect(joinDeltas(events, "response.output_text.delta")).toBe("so {{EMAIL");
    const failure = new ModelError("bad_input", "who is {{EMAIL_1_x7f3}}?", { retryable: true });
    const seen: Event[] = [];
    const failed = (async () => {
      const model = createMaskedModel(broken(failure), createVaultWithValues(), storeNothing);
      for await (const batch of model.stream({}, signal)) seen.push(...batch);
    })();
    await expect(failed).rejects.toMatchObject({
      code: "bad_input",
      message: "who is ada@example.com?",
      retryable: true,
    });
    expect(joinDeltas(seen, "response.output_text.delta")).toBe("so {{EMAIL");
  });

  test("ends with its upstream stream when it is aborted", async () => {
    const stopping = new AbortController();
    const upstream = scriptedModel([[{ text: "one {{" }, { wait: new Promise(() => undefined) }]]);
    const model = createMaskedModel(upstream, newVault(), storeNothing);
    const seen: Event[] = [];
    const run = (async () => {
      for await (const batch of model.stream({ input: "go" }, stopping.signal)) {
        seen.push(...batch);
        if (joinDeltas(seen, "response.output_text.delta") !== "")
          stopping.abort(new Error("stop"));
      }
    })();
    await expect(run).rejects.toThrow("stop");
    expect(upstream.openStreams).toBe(0);
  });

  test("closes the model's stream when its consumer stops reading", async () => {
    const upstream = scriptedModel([[{ text: ["one", "two", "three"] }]]);
    for await (const batch of createMaskedModel(upstream, newVault(), storeNothing).stream(
      { input: "go" },
      signal,
    ))
      if (batch.length > 0) break;
    expect(upstream.openStreams).toBe(0);
  });

  test("forwards the model's reports", async () => {
    const notes: RoundReport[] = [];
    const model = createMaskedModel(scriptedModel([[{ text: "ok" }]]), newVault(), storeNothing);
    await collectEvents(model, { input: "go" }, (report) => notes.push(report));
    expect(notes).toEqual([{ repairs: expect.anything() }]);
  });
});
