import type { ChatSettings, PrivacyKind } from "@deltawire/tasks/chats";

type Privacy = Pick<ChatSettings, "privacy">;

/** What no model is told in a chat with these settings, each kind once; none where nothing is masked. */
export function maskedKinds({ privacy }: Privacy, defaults: Privacy): readonly PrivacyKind[] {
  const { enabled = false, fields = [] } = privacy ?? defaults.privacy ?? {};
  return enabled ? [...new Set(fields.map(({ kind }) => kind))] : [];
}
