import {
  cancelBody,
  decisionBody,
  editBody,
  editsBody,
  extractBody,
  newChatBody,
  nodeBody,
  parseValue,
  sendBody,
  stopBody,
  taskInputBody,
  undoBody,
} from "@deltawire/tasks/chats";
import type { GenericSchema } from "valibot";
import { describe, expect, test } from "vitest";
import { measureCpuTime } from "../../../test/cpu-time.ts";
import { buildOpenApiDocument } from "../src/http/openapi-document.ts";
import { signInBodySchema } from "../src/http/serve-session.ts";
import { taskRequestSchema } from "../src/tasks/task-request.ts";
import { uiMessagesBodySchema } from "../src/tasks/ui-messages/ui-request.ts";
import { findSchemaErrors } from "./validate-schema.ts";

/* The schemas of request bodies: what they accept and reject, with which messages, and at which cost. */

type Json = Readonly<Record<string, unknown>>;

const bodies: Readonly<Record<string, [schema: GenericSchema, valid: Json]>> = {
  start_task: [taskRequestSchema, { model: "m", input: "Go" }],
  task_input: [taskInputBody, { input: [{ type: "text", text: "Go" }] }],
  cancel_task: [cancelBody, { reason: "late" }],
  decide_approval: [decisionBody, { decision: "approve", arguments: { a: 1 } }],
  create_chat: [newChatBody, { title: "a", settings: { model: "m" }, tags: ["a"] }],
  edit_chat: [editsBody, { revision: 0, edits: [{ type: "rename", title: "a" }] }],
  send_message: [sendBody, { text: "Hello", parent: null }],
  rerun_answer: [nodeBody, { node_id: "n" }],
  edit_message: [editBody, { node_id: "n", text: "Hello" }],
  undo_deletion: [undoBody, { removal_id: "r" }],
  extract_chat: [extractBody, { node_id: "n" }],
  stop_answers: [stopBody, { node_id: "n" }],
  sign_in: [signInBodySchema, { token: "t" }],
};
const names = Object.keys(bodies);
const findBody = (name: string) => bodies[name] ?? [taskRequestSchema, {}];

const document = buildOpenApiDocument("1", "http://127.0.0.1") as {
  paths: Record<string, Record<string, Record<string, unknown>>>;
  components: { schemas: Record<string, Json> };
};
/** Returns the ways in which a body violates the OpenAPI document. */
function documentFaults(name: string, body: unknown): string[] {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const operation = operations.find(({ operationId }) => operationId === name);
  const described = operation?.["requestBody"] as
    | { content: Record<string, { schema: Json }> }
    | undefined;
  const schema = described?.content["application/json"]?.schema;
  if (schema === undefined) return [`${name} has no body`];
  return findSchemaErrors(document.components.schemas, schema, body);
}

describe.each(names)("the body of %s", (name) => {
  const [schema, valid] = findBody(name);
  const parse = (body: unknown) => parseValue(schema, body);

  test("is accepted as the OpenAPI document describes it", () => {
    expect(parse(valid)).toMatchObject({ ok: true, value: {} });
    expect(documentFaults(name, valid)).toEqual([]);
  });

  test("with an unknown field is rejected with its name, as by the document", () => {
    for (const field of ["misspelled", "__proto__", "constructor"]) {
      const body = JSON.parse(
        JSON.stringify(valid).replace(/^\{/, `{${JSON.stringify(field)}:1,`),
      ) as Json;
      expect(parse(body)).toEqual({
        ok: false,
        path: field,
        message: expect.stringMatching(/^unknown field; expected \w/) as string,
      });
      expect(documentFaults(name, body)).not.toEqual([]);
    }
  });

  test("must be an object", () => {
    for (const body of [null, 7, "text", [], [valid]])
      expect(parse(body)).toMatchObject({
        ok: false,
        path: "",
        message: expect.stringMatching(/^must be an object, got /) as string,
      });
  });

  test("with a field of the wrong type is rejected with its path, as by the document", () => {
    for (const field of Object.keys(valid)) {
      const body = { ...valid, [field]: { wrong: [] } };
      const parsed = parse(body);
      if (parsed.ok) continue;
      expect(parsed.path.split(/[.[]/, 1)).toEqual([field]);
      expect(documentFaults(name, body)).not.toEqual([]);
    }
  });
});

test("strings in bodies have a maximum length, except for URLs, which may contain data", () => {
  const unlimited: string[] = [];
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    const { type, maxLength, enum: words, const: word, $ref } = value as Json;
    if (typeof $ref === "string") {
      const name = $ref.replace("#/components/schemas/", "");
      walk(document.components.schemas[name], `${path}.${name}`);
    }
    const isFree = type === "string" && words === undefined && word === undefined;
    if (isFree && maxLength === undefined) unlimited.push(path);
    for (const [name, one] of Object.entries(value)) walk(one, `${path}.${name}`);
  };
  for (const methods of Object.values(document.paths))
    for (const { operationId, requestBody } of Object.values(methods))
      if (names.includes(String(operationId))) walk(requestBody, String(operationId));
  expect(unlimited.filter((path) => !path.endsWith("url"))).toEqual([]);
});

test.each<[GenericSchema, Json, path: string, message: string]>([
  [taskRequestSchema, { model: "m" }, "input", "is missing; must be a string or an array of parts"],
  [
    taskRequestSchema,
    { model: "m", input: [{ text: "a" }] },
    "input[0].type",
    "is missing; must be one of text, image_url, audio_url, file_url",
  ],
  [taskRequestSchema, { model: "m", input: [] }, "input", "must have at least 1 entry, got 0"],
  [taskRequestSchema, { input: "Go" }, "agent", "is missing; name an agent or a model"],
  [
    taskRequestSchema,
    { agent: "a", model: "m", input: "Go" },
    "model",
    "expected either agent or model, not both",
  ],
  [
    taskRequestSchema,
    { model: "m", input: "a\ud83d" },
    "input",
    "must not contain lone surrogates",
  ],
  [
    taskRequestSchema,
    { model: "m", input: [{ type: "text", text: "\ude00a" }] },
    "input[0].text",
    "must not contain lone surrogates",
  ],
  [taskInputBody, { input: "a\ud83d" }, "input", "must not contain lone surrogates"],
  [
    cancelBody,
    { raeson: "late" },
    "raeson",
    "unknown field (did you mean reason?); expected reason",
  ],
  [decisionBody, {}, "decision", "is missing; must be one of approve, deny, redact, abort"],
  [uiMessagesBodySchema, {}, "messages", "is missing; must be an array"],
])("invalid body %# is rejected with a clear message", (schema, body, path, message) => {
  expect(parseValue(schema, body)).toEqual({ ok: false, path, message });
});

test("a value that is too long is not repeated in the error", () => {
  const long = "x".repeat(1_000_000);
  for (const [schema, body, path] of [
    [taskRequestSchema, { model: "m", input: "Go", tool_groups: [long] }, "tool_groups[0]"],
    [taskRequestSchema, { model: "m", input: "Go", instructions: `${long}x` }, "instructions"],
    [newChatBody, { settings: { time_zone: long } }, "settings.time_zone"],
    [newChatBody, { settings: { skills: [long] } }, "settings.skills[0]"],
  ] as const)
    expect(parseValue<GenericSchema>(schema, body)).toEqual({
      ok: false,
      path,
      message: expect.stringMatching(/^must have at most \d+ characters, got \d+$/) as string,
    });
});

describe("the body of ui_messages", () => {
  const valid = { id: "c", trigger: "submit-message", messages: [{ role: "user", parts: [] }] };

  test("is accepted and rejected as the OpenAPI document describes it", () => {
    expect(document.components.schemas["UiMessages"]).toMatchObject({ additionalProperties: true });
    const accepted = [valid, { ...valid, messageId: "m", agent: "a", tenant: 7 }];
    const rejected = [
      null,
      [],
      {},
      { ...valid, id: 7 },
      { ...valid, id: "x".repeat(100_000) },
      { ...valid, trigger: 7 },
      { ...valid, messageId: [] },
      { ...valid, messages: 7 },
      { ...valid, messages: [] },
      { ...valid, limits: { rounds: 0 } },
      { ...valid, limits: { misspelled: 1 } },
    ];
    for (const body of [...accepted, ...rejected]) {
      const isTaken = accepted.includes(body as typeof valid);
      expect([body, parseValue(uiMessagesBodySchema, body).ok]).toEqual([body, isTaken]);
      expect([body, documentFaults("ui_messages", body).length === 0]).toEqual([body, isTaken]);
    }
  });
});

describe("a body designed to keep the gateway busy", () => {
  // A body has at most 250,000 values.
  const count = 240_000;
  const many = <Item>(item: Item): Item[] => Array.from({ length: count }, () => item);
  const manyFields = Object.fromEntries(Array.from({ length: count }, (_, nth) => [`k${nth}`, 1]));
  const long = "x".repeat(20_000_000);
  let deep: unknown = {};
  for (let nth = 0; nth < 1000; nth += 1) deep = { a: deep };

  const values: [what: string, value: unknown][] = [
    ["many fields", manyFields],
    ["a long name of a field", { [long]: 1 }],
    ["a long text", long],
    ["many wrong items", many(7)],
    ["many objects", many({ type: "rename", title: 7 })],
    ["many long strings", many(long)],
    ["many lists", many([])],
    ["what is nested deep", deep],
    ["many fields with something deep", { ...manyFields, deep }],
  ];
  test.each(values)("%s: is rejected immediately with a short message", (_what, value) => {
    for (const name of names) {
      const [schema, valid] = findBody(name);
      const fields = (schema as unknown as { entries: object }).entries;
      const hostile = [
        value,
        ...Object.keys(fields).map((field) => ({ ...valid, [field]: value })),
      ];
      for (const body of hostile) {
        let parsed: ReturnType<typeof parseValue> | undefined;
        expect(measureCpuTime(() => (parsed = parseValue(schema, body)))).toBeLessThan(200);
        if (parsed?.ok !== false) continue;
        expect(parsed.message.length).toBeLessThan(1000);
        expect(parsed.path.length).toBeLessThan(300);
      }
    }
  });

  test("is validated in time proportional to its length", () => {
    const edits = (length: number) => ({
      revision: 0,
      edits: Array.from({ length }, (_, nth) => ({ type: "rename", title: `title ${nth}` })),
    });
    expect(parseValue(editsBody, edits(1000)).ok).toBe(true);
    expect(measureCpuTime(() => parseValue(editsBody, edits(1000)))).toBeLessThan(100);
    expect(parseValue(editsBody, edits(1001))).toMatchObject({ ok: false, path: "edits" });
  });
});
