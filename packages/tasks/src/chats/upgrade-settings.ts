/** Values of `result_approval` in earlier versions, with their replacements. */
export const formerResultPolicies: ReadonlyMap<unknown, "on_error"> = new Map([
  ["on error", "on_error"],
]);

/** Names of settings in earlier versions, with their replacements. */
const formerNames = [
  ["results", "result_approval"],
  ["exact_time", "message_times"],
] as const;

/**
 * Replaces names and values of earlier versions, which stored chats, files and requests may still have. A setting under its
 * current name takes precedence. Returns the same object if there is nothing to replace.
 */
export function upgradeSettings<Settings extends object>(settings: Settings): Settings {
  let upgradedSettings = settings as Readonly<Record<string, unknown>>;
  for (const [formerName, name] of formerNames) {
    const { [formerName]: value, ...rest } = upgradedSettings;
    if (value !== undefined) upgradedSettings = { [name]: value, ...rest };
  }
  const policy = formerResultPolicies.get(upgradedSettings["result_approval"]);
  if (policy !== undefined) upgradedSettings = { ...upgradedSettings, result_approval: policy };
  return upgradedSettings as Settings;
}

/** Applies `upgradeSettings` to the settings of a chat or a chat header. */
export function upgradeChatSettings<Chat extends { readonly settings: object }>(chat: Chat): Chat {
  const settings = upgradeSettings(chat.settings);
  return settings === chat.settings ? chat : { ...chat, settings };
}
