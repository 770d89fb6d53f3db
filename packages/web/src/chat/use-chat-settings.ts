import type { ChatSettings } from "@deltawire/tasks/chats";
import { useCell, usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import type { Cell } from "../cell.ts";
import type { OpenChat, OpenChatState } from "../state/page.ts";
import type { SettingsPatch } from "./settings-form.ts";
import { whoAnswersNow } from "./who-answers.tsx";

export interface ShownSettings {
  readonly settings: ChatSettings;
  readonly change: (patch: SettingsPatch) => void;
}

const none: ChatSettings = {};
const notThere: Cell<OpenChatState> = { get: () => loading, subscribe: () => () => undefined };
const loading: OpenChatState = { is: "loading" };

/** Those of a chat, or of the one that is made with the first message. */
export function useChatSettings(chat: OpenChat | undefined): ShownSettings {
  const ofNew = usePage().newChatSettings;
  const forNew = useCell(ofNew);
  const ofChat = usePicked(chat?.state ?? notThere, (state) =>
    state.is === "ready" ? state.chat.settings : none,
  );
  if (chat === undefined) return { settings: forNew, change: (patch) => ofNew.change(patch) };
  return {
    settings: ofChat,
    change: (patch) => void chat.change({ type: "settings", patch }),
  };
}

export function useIsDeleted(chat: OpenChat | undefined): boolean {
  return usePicked(
    chat?.state ?? notThere,
    (state) => state.is === "ready" && state.deletedAt !== undefined,
  );
}

/** The name of whoever writes the answer of a task of the chat. */
export function useWhoAnswersNow(
  chat: OpenChat | undefined,
  taskId: string | undefined,
): string | undefined {
  return usePicked(chat?.state ?? notThere, (state) =>
    state.is === "ready" && taskId !== undefined ? whoAnswersNow(state.chat, taskId) : undefined,
  );
}
