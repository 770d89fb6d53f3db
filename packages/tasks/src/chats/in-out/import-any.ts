import { sizeProblems } from "../chat-limits.ts";
import { isPlainObject } from "../check-value.ts";
import { first } from "./check-json.ts";
import type { Imported, ImportWorld } from "./imported.ts";
import { chatFileFormat, chatsFromJsonSteps } from "./json.ts";
import { runToEnd } from "./run-to-end.ts";
import { chatsFromOpenAiSteps } from "./openai-import.ts";

/** Chats of a file of ours or of OpenAI messages, by its shape. */
export function importChats(value: unknown, world: ImportWorld): Imported {
  return runToEnd(importChatsSteps(value, world));
}

/** The same in steps, between which others can have their turn: a full chat takes 300 ms. */
export function* importChatsSteps(value: unknown, world: ImportWorld): Generator<void, Imported> {
  const read = yield* readAny(value, world);
  if (!read.ok) return read;
  const problems = read.chats.flatMap(({ chat }, index) => sizeProblems(chat, `chats[${index}]`));
  return problems.length === 0 ? read : { ok: false, problems: first(problems) };
}

function* readAny(value: unknown, world: ImportWorld): Generator<void, Imported> {
  if (isPlainObject(value) && "format" in value) return yield* chatsFromJsonSteps(value, world);
  if (Array.isArray(value) || (isPlainObject(value) && "messages" in value))
    return yield* chatsFromOpenAiSteps(value, world);
  const forms = `a file of chats ({ "format": "${chatFileFormat}", … }) or OpenAI messages ([…] or { "messages": […] })`;
  return { ok: false, problems: [`This is neither of the forms that can be read: ${forms}.`] };
}
