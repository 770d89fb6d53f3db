import { quoted } from "@deltawire/tasks";
import { isDeepStrictEqual } from "node:util";
import { checkSettings, type ChatSettings, type ModelOptions } from "@deltawire/tasks/chats";
import { checkPrivacyFields } from "../privacy/check-fields.ts";
import { ChatError } from "./chat-error.ts";
import type { ChatsOptions } from "./chat-ports.ts";
import { checkOptions } from "../options/model-options.ts";
import { checkTimeZone } from "./system-prompt.ts";

/** Throws what is wrong with the settings of a chat, all that a tree of plain data cannot know included. */
export function mustBeSettings(value: unknown, path = "settings"): asserts value is ChatSettings {
  const [problem] = settingsProblems(value);
  if (problem !== undefined) throw badValue(`${path}.${problem}`);
}

/** Throws what of the settings that are new names something that is not there. */
export async function mustBeKnown(
  settings: ChatSettings,
  path: string,
  { checkNames }: Pick<Required<ChatsOptions>, "checkNames">,
): Promise<void> {
  const problem = await checkNames(settings);
  if (problem !== undefined) throw badValue(`${path}.${problem}`);
}

export function changedSettings(before: ChatSettings, after: ChatSettings): ChatSettings {
  const names = Object.keys(after) as (keyof ChatSettings)[];
  const changed = names.filter((name) => !isDeepStrictEqual(before[name], after[name]));
  return Object.fromEntries(changed.map((name) => [name, after[name]]));
}

/** Throws what is wrong with the parameters that one request or one message brings along. */
export function mustBeOptions(options: ModelOptions | undefined): void {
  const [problem] = options === undefined ? [] : checkOptions(options);
  if (problem !== undefined) throw badValue(`options.${problem}`);
}

/** A problem that begins with its path. */
function badValue(problem: string): ChatError {
  return new ChatError("bad_value", problem, { param: /^[^:\s]*/.exec(problem)?.[0] ?? "" });
}

function settingsProblems(value: unknown): string[] {
  const problems = checkSettings(value);
  if (problems.length > 0) return problems;
  const { options, privacy, time_zone } = value as ChatSettings;
  return [
    ...(options === undefined ? [] : checkOptions(options).map((problem) => `options.${problem}`)),
    ...(privacy === undefined
      ? []
      : checkPrivacyFields(privacy.fields).map((problem) => `privacy.fields${problem}`)),
    ...(time_zone === undefined || checkTimeZone(time_zone)
      ? []
      : [
          `time_zone: there is no time zone ${quoted(time_zone)}; write a name such as Europe/Berlin`,
        ]),
  ];
}
