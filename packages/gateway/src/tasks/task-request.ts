import { checkOptions, type TaskRequest } from "@deltawire/agent";
import type { ApprovalScope, ContentPart, Limits, Resolution } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import { BodyFields, invalid } from "./body-fields.ts";

/** What else a task may be asked is said by chats and by the protocols of others only. */
type Asked = Omit<TaskRequest, "history" | "references_before" | "preamble" | "chat_id">;
/** A person's decision, without its name. */
type DecisionBody = Omit<Resolution, "by" | "scope" | "expanded_arguments" | "idempotency_key"> & {
  scope?: ApprovalScope;
};

/** The body of `POST /api/tasks`. Its fields come out in one order, so that the same request is the same text. */
export function readTaskRequest(body: unknown): Asked {
  const fields = new BodyFields(body, [
    "agent",
    "model",
    "input",
    "instructions",
    "tool_groups",
    "session_id",
    "limits",
    "options",
    "include",
  ]);
  if (fields.has("agent") === fields.has("model"))
    throw invalid(
      fields.has("agent") ? "model" : "agent",
      "expected exactly one of agent and model",
    );
  return {
    ...fields.given<Pick<Asked, "agent" | "model">>({
      agent: (name) => fields.name(name),
      model: (name) => fields.name(name),
    }),
    input: readInput(fields),
    ...fields.given<Omit<Asked, "agent" | "model" | "input">>({
      instructions: (name) => fields.text(name),
      tool_groups: (name) =>
        fields.list(name).map((group, index) => {
          if (typeof group === "string" && group !== "") return group;
          throw invalid(`${name}[${index}]`, "expected the name of a tool group");
        }),
      session_id: (name) => fields.name(name),
      limits: (name) => readLimits(fields.get(name), name),
      options: (name) => readOptions(fields.get(name), name),
      include: (name) =>
        fields.list(name).map((word, index) => {
          if (word === "content") return word;
          throw invalid(`${name}[${index}]`, 'expected "content", the only thing to include');
        }),
    }),
  };
}

/** The body of `POST /api/tasks/{task}/input`. */
export function readTaskInput(body: unknown): TaskWord {
  const fields = new BodyFields(body, ["input", "delivery"]);
  const delivery = fields.has("delivery") ? fields.word("delivery", ["steer", "queue"]) : "steer";
  return { input: readInput(fields), delivery };
}

export interface TaskWord {
  input: string | ContentPart[];
  delivery: "steer" | "queue";
}

/** The body of `POST /api/tasks/{task}/cancel`. */
export function readCancel(body: unknown): { reason?: string } {
  const fields = new BodyFields(body, ["reason"]);
  return fields.given<{ reason: string }>({ reason: (name) => fields.text(name, longestReason) });
}

/** The body of `POST /api/approvals/{approval}`. What fits an approval is the runtime's to say. */
export function readDecision(body: unknown): DecisionBody {
  const fields = new BodyFields(body, [
    "decision",
    "arguments",
    "reason",
    "scope",
    "any_arguments",
    "replacement",
  ]);
  const decision = fields.word("decision", ["approve", "deny", "redact", "abort"]);
  return {
    decision,
    ...fields.given<Omit<DecisionBody, "decision">>({
      arguments: (name) => readArguments(fields, name),
      reason: (name) => fields.text(name, longestReason),
      scope: (name) => fields.word<ApprovalScope>(name, ["once", "session"]),
      any_arguments: (name) => fields.yesOrNo(name),
      replacement: (name) => fields.text(name),
    }),
  };
}

const longestReason = 10_000;

function readInput(fields: BodyFields): string | ContentPart[] {
  const value = fields.get("input");
  if (typeof value === "string") {
    if (value.trim() === "") throw invalid("input", "expected something to do, got no text");
    return value;
  }
  if (!Array.isArray(value) || value.length === 0)
    throw invalid("input", "expected a string, or an array of parts with at least one in it");
  return value.map((part, index) => readPart(part, `input[${index}]`));
}

function readPart(value: unknown, path: string): ContentPart {
  const type = (value as { type?: unknown } | null)?.type;
  switch (type) {
    case "text":
      return { type, text: new BodyFields(value, ["type", "text"], path).text("text") };
    case "image_url": {
      const fields = new BodyFields(value, ["type", "image_url"], path);
      return { type, image_url: readAddress(fields, "image_url") };
    }
    case "audio_url": {
      const fields = new BodyFields(value, ["type", "audio_url"], path);
      return { type, audio_url: readAddress(fields, "audio_url") };
    }
    case "file_url": {
      const fields = new BodyFields(value, ["type", "file_url", "filename", "media_type"], path);
      return {
        type,
        file_url: readAddress(fields, "file_url"),
        ...fields.given<{ filename: string; media_type: string }>({
          filename: (name) => fields.name(name),
          media_type: (name) => fields.name(name),
        }),
      };
    }
    default:
      throw invalid(`${path}.type`, "expected one of text, image_url, audio_url, file_url");
  }
}

function readAddress(fields: BodyFields, name: string): { url: string } {
  return { url: new BodyFields(fields.get(name), ["url"], fields.at(name)).address("url") };
}

/** The JSON text, or the object that it would be. */
function readArguments(fields: BodyFields, name: string): string {
  const value = fields.get(name);
  if (typeof value === "object") return JSON.stringify(value);
  const text = fields.text(name);
  try {
    JSON.parse(text);
  } catch (error) {
    throw invalid(name, `expected JSON: ${(error as Error).message}`);
  }
  return text;
}

function readOptions(value: unknown, path: string): JsonObject {
  const [problem] = checkOptions(value);
  if (problem === undefined) return value as JsonObject;
  const [, at, what] = /^([\w.[\]-]+): ([^]*)$/.exec(problem) ?? [];
  throw at === undefined || what === undefined
    ? invalid(path, problem)
    : invalid(`${path}.${at}`, what);
}

function readLimits(value: unknown, path: string): Limits {
  const names = ["rounds", "tokens", "cost", "seconds", "depth"] as const;
  const fields = new BodyFields(value, names, path);
  const limits: Limits = {};
  for (const name of names) {
    if (!fields.has(name)) continue;
    const number = fields.get(name);
    const least = name === "depth" ? 0 : Number.MIN_VALUE;
    if (typeof number !== "number" || !Number.isFinite(number) || number < least)
      throw invalid(fields.at(name), "expected a number above 0");
    if (name !== "cost" && name !== "seconds" && !Number.isInteger(number))
      throw invalid(fields.at(name), "expected a whole number");
    limits[name] = number;
  }
  return limits;
}
