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
import { workTime } from "../../../test/work-time.ts";
import { openApi } from "../src/http/openapi.ts";
import { signInBody } from "../src/http/serve-session.ts";
import { taskRequest } from "../src/tasks/task-request.ts";
import { uiMessagesBody } from "../src/tasks/ui-messages/ui-request.ts";
import { schemaFaults } from "./openapi-faults.ts";

/* The schemas of request bodies: what they refuse, in which words, and at which cost. */

type Json = Readonly<Record<string, unknown>>;

const bodies: Readonly<Record<string, [schema: GenericSchema, valid: Json]>> = {
  start_task: [taskRequest, { model: "m", input: "Go" }],
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
  sign_in: [signInBody, { token: "t" }],
};
const names = Object.keys(bodies);
const bodyOf = (name: string) => bodies[name] ?? [taskRequest, {}];

const document = openApi("1", "http://127.0.0.1") as {
  paths: Record<string, Record<string, Record<string, unknown>>>;
  components: { schemas: Record<string, Json> };
};
/** Where a body is not as the OpenAPI document says. */
function documentFaults(name: string, body: unknown): string[] {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const operation = operations.find(({ operationId }) => operationId === name);
  const described = operation?.["requestBody"] as
    | { content: Record<string, { schema: Json }> }
    | undefined;
  const schema = described?.content["application/json"]?.schema;
  if (schema === undefined) return [`${name} has no body`];
  return schemaFaults(document.components.schemas, schema, body);
}

describe.each(names)("the body of %s", (name) => {
  const [schema, valid] = bodyOf(name);
  const parse = (body: unknown) => parseValue(schema, body);

  test("is taken as the OpenAPI document describes it", () => {
    expect(parse(valid)).toMatchObject({ ok: true, value: {} });
    expect(documentFaults(name, valid)).toEqual([]);
  });

  test("is refused by the name of an unknown field, which the document refuses too", () => {
    for (const field of ["misspelled", "__proto__", "constructor"]) {
      const body = JSON.parse(
        JSON.stringify(valid).replace(/^\{/, `{${JSON.stringify(field)}:1,`),
      ) as Json;
      expect(parse(body)).toEqual({
        ok: false,
        path: field,
        message: expect.stringMatching(/^unknown field; there are \w/) as string,
      });
      expect(documentFaults(name, body)).not.toEqual([]);
    }
  });

  test("is an object", () => {
    for (const body of [null, 7, "text", [], [valid]])
      expect(parse(body)).toMatchObject({
        ok: false,
        path: "",
        message: expect.stringMatching(/^must be an object, got /) as string,
      });
  });

  test("with a field of another type is refused by its path, by the document too", () => {
    for (const field of Object.keys(valid)) {
      const body = { ...valid, [field]: { wrong: [] } };
      const parsed = parse(body);
      if (parsed.ok) continue;
      expect(parsed.path.split(/[.[]/, 1)).toEqual([field]);
      expect(documentFaults(name, body)).not.toEqual([]);
    }
  });
});

test("strings in bodies have a maximum length, but for addresses, which may hold data", () => {
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
  [taskRequest, { model: "m" }, "input", "is missing; must be a string or an array of parts"],
  [
    taskRequest,
    { model: "m", input: [{ text: "a" }] },
    "input[0].type",
    "is missing; must be one of text, image_url, audio_url, file_url",
  ],
  [taskRequest, { model: "m", input: [] }, "input", "must have at least 1 entry, got 0"],
  [taskRequest, { input: "Go" }, "agent", "is missing; name an agent or a model"],
  [
    taskRequest,
    { agent: "a", model: "m", input: "Go" },
    "model",
    "expected one of agent and model, not both",
  ],
  [taskRequest, { model: "m", input: "a\ud83d" }, "input", "has half a character in it"],
  [
    taskRequest,
    { model: "m", input: [{ type: "text", text: "\ude00a" }] },
    "input[0].text",
    "has half a character in it",
  ],
  [taskInputBody, { input: "a\ud83d" }, "input", "has half a character in it"],
  [
    cancelBody,
    { raeson: "late" },
    "raeson",
    "unknown field; did you mean reason? there are reason",
  ],
  [decisionBody, {}, "decision", "is missing; must be one of approve, deny, redact, abort"],
  [uiMessagesBody, {}, "messages", "is missing; must be an array"],
])("%#: %j is refused in clear words", (schema, body, path, message) => {
  expect(parseValue(schema, body)).toEqual({ ok: false, path, message });
});

test("a value that is too long is not repeated", () => {
  const long = "x".repeat(1_000_000);
  for (const [schema, body, path] of [
    [taskRequest, { model: "m", input: "Go", tool_groups: [long] }, "tool_groups[0]"],
    [taskRequest, { model: "m", input: "Go", instructions: `${long}x` }, "instructions"],
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

  test("is taken and refused as the OpenAPI document describes it", () => {
    expect(document.components.schemas["UiMessages"]).toMatchObject({ additionalProperties: true });
    const taken = [valid, { ...valid, messageId: "m", agent: "a", tenant: 7 }];
    const refused = [
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
    for (const body of [...taken, ...refused]) {
      const isTaken = taken.includes(body as typeof valid);
      expect([body, parseValue(uiMessagesBody, body).ok]).toEqual([body, isTaken]);
      expect([body, documentFaults("ui_messages", body).length === 0]).toEqual([body, isTaken]);
    }
  });
});

describe("what somebody sends to keep the gateway busy", () => {
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
    ["many long texts", many(long)],
    ["many lists", many([])],
    ["what is nested deep", deep],
    ["many fields with something deep", { ...manyFields, deep }],
  ];
  test.each(values)("%s: is refused at once and in few words", (_what, value) => {
    for (const name of names) {
      const [schema, valid] = bodyOf(name);
      const fields = (schema as unknown as { entries: object }).entries;
      const hostile = [
        value,
        ...Object.keys(fields).map((field) => ({ ...valid, [field]: value })),
      ];
      for (const body of hostile) {
        let parsed: ReturnType<typeof parseValue> | undefined;
        expect(workTime(() => (parsed = parseValue(schema, body)))).toBeLessThan(200);
        if (parsed?.ok !== false) continue;
        expect(parsed.message.length).toBeLessThan(1000);
        expect(parsed.path.length).toBeLessThan(300);
      }
    }
  });

  test("time grows with the length of what is valid", () => {
    const edits = (length: number) => ({
      revision: 0,
      edits: Array.from({ length }, (_, nth) => ({ type: "rename", title: `title ${nth}` })),
    });
    expect(parseValue(editsBody, edits(1000)).ok).toBe(true);
    expect(workTime(() => parseValue(editsBody, edits(1000)))).toBeLessThan(100);
    expect(parseValue(editsBody, edits(1001))).toMatchObject({ ok: false, path: "edits" });
  });
});
