import type { Usage } from "../items.ts";
import { addUsage, noUsage } from "../usage.ts";
import { checkTitle } from "./check-edit.ts";
import type { Edited, PersonEdit } from "./edit.ts";
import { badValue, refused } from "./refusal.ts";
import { checkSettings, settingsAfter } from "./settings.ts";
import type { Chat } from "./shapes.ts";

export function changeSettings(
  chat: Chat,
  patch: Extract<PersonEdit, { type: "settings" }>["patch"],
): Edited {
  const settings = settingsAfter(chat.settings, patch);
  const problems = checkSettings(settings, "patch");
  return problems.length > 0 ? badValue(problems) : { ok: true, chat: { ...chat, settings } };
}

/** Once, and never over a name that somebody gave. */
export function titleByModel(chat: Chat, title: string, usage: Usage | undefined): Edited {
  const problems = checkTitle(title);
  if (problems.length > 0) return badValue(problems);
  if (chat.title_by !== "nobody")
    return refused("illegal_place", "the chat has a name already, which a model does not change");
  const named: Chat = { ...chat, title, title_by: "model" };
  if (usage === undefined) return { ok: true, chat: named };
  const extra_usage = addUsage(chat.extra_usage ?? noUsage, usage);
  return { ok: true, chat: { ...named, extra_usage } };
}
