import { findSizeProblems } from "../chat-limits.ts";
import { isPlainObject } from "../value-checks.ts";
import { limitProblems } from "./file-checks.ts";
import type { ImportResult, ImportEnvironment } from "./import-types.ts";
import { chatFileFormat, chatsFromJsonSteps } from "./json.ts";
import { runToEnd } from "./run-to-end.ts";
import { chatsFromOpenAiSteps } from "./openai-import.ts";

/** Imports a chat file or OpenAI messages; the format is detected. */
export function importChats(value: unknown, environment: ImportEnvironment): ImportResult {
  return runToEnd(importChatsSteps(value, environment));
}

/** Like `importChats`, in steps, so that other work can run between them: a chat of maximum size takes 300 ms. */
export function* importChatsSteps(
  value: unknown,
  environment: ImportEnvironment,
): Generator<void, ImportResult> {
  const result = yield* parseAnyFormat(value, environment);
  if (!result.ok) return result;
  const problems = result.chats.flatMap(({ chat }, index) =>
    findSizeProblems(chat, `chats[${index}]`),
  );
  return problems.length === 0 ? result : { ok: false, problems: limitProblems(problems) };
}

function* parseAnyFormat(
  value: unknown,
  environment: ImportEnvironment,
): Generator<void, ImportResult> {
  if (isPlainObject(value) && "format" in value)
    return yield* chatsFromJsonSteps(value, environment);
  if (Array.isArray(value) || (isPlainObject(value) && "messages" in value))
    return yield* chatsFromOpenAiSteps(value, environment);
  const formats = `a chat file ({ "format": "${chatFileFormat}", … }) or OpenAI messages ([…] or { "messages": […] })`;
  return { ok: false, problems: [`unknown format: expected ${formats}`] };
}
