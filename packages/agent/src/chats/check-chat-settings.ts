import { quoteExcerpt } from "@deltawire/tasks";
import { isDeepStrictEqual } from "node:util";
import { checkSettings, type ChatSettings, type ModelOptions } from "@deltawire/tasks/chats";
import { checkPrivacyFields } from "../privacy/check-privacy-fields.ts";
import { ChatError } from "./chat-error.ts";
import type { ChatsOptions } from "./chats-options.ts";
import { validateModelOptions } from "../options/model-options.ts";
import { isTimeZone } from "../time-zone.ts";

/** Throws a ChatError if the settings are invalid, including options, privacy fields and time zone. */
export function assertChatSettings(
  value: unknown,
  path = "settings",
): asserts value is ChatSettings {
  const [problem] = findSettingsProblems(value);
  if (problem !== undefined) throw createInvalidValueError(`${path}.${problem}`);
}

/** Throws a ChatError if the settings name something that does not exist. */
export async function assertKnownNames(
  settings: ChatSettings,
  path: string,
  { findUnknownName }: Pick<Required<ChatsOptions>, "findUnknownName">,
): Promise<void> {
  const problem = await findUnknownName(settings);
  if (problem !== undefined)
    throw createInvalidValueError(`${path}.${problem.path}: ${problem.reason}`);
}

/** Returns the settings of `after` that differ from `before`. */
export function pickChangedSettings(before: ChatSettings, after: ChatSettings): ChatSettings {
  const names = Object.keys(after) as (keyof ChatSettings)[];
  const changedNames = names.filter((name) => !isDeepStrictEqual(before[name], after[name]));
  return Object.fromEntries(changedNames.map((name) => [name, after[name]]));
}

/** Throws a ChatError if the model options of a request or message are invalid. */
export function assertModelOptions(options: ModelOptions | undefined): void {
  const [problem] = options === undefined ? [] : validateModelOptions(options);
  if (problem !== undefined) throw createInvalidValueError(`options.${problem}`);
}

/** `problem` must start with its path. */
function createInvalidValueError(problem: string): ChatError {
  return new ChatError("invalid_value", problem, { param: /^[^:\s]*/.exec(problem)?.[0] ?? "" });
}

function findSettingsProblems(value: unknown): string[] {
  const problems = checkSettings(value);
  if (problems.length > 0) return problems;
  const { options, privacy, time_zone } = value as ChatSettings;
  return [
    ...(options === undefined
      ? []
      : validateModelOptions(options).map((problem) => `options.${problem}`)),
    ...(privacy === undefined
      ? []
      : checkPrivacyFields(privacy.fields).map((problem) => `privacy.fields${problem}`)),
    ...(time_zone === undefined || isTimeZone(time_zone)
      ? []
      : [
          `time_zone: unknown time zone ${quoteExcerpt(time_zone)}; expected an IANA name such as Europe/Berlin`,
        ]),
  ];
}
