import type { ChatSettings } from "@deltawire/tasks/chats";
import { useCell, useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import type { Cell } from "../cell.ts";
import type { OpenChat, OpenChatState } from "../state/app-store.ts";
import type { SettingsPatch } from "./settings-form.ts";
import { findRunningResponder } from "./responder.tsx";

export interface EditableSettings {
  readonly settings: ChatSettings;
  readonly change: (patch: SettingsPatch) => void;
}

const emptySettings: ChatSettings = {};
const loadingCell: Cell<OpenChatState> = {
  get: () => loadingState,
  subscribe: () => () => undefined,
};
const loadingState: OpenChatState = { status: "loading" };

/** Returns the settings of a chat or, without a chat, those for the next new one. */
export function useChatSettings(chat: OpenChat | undefined): EditableSettings {
  const newChatCell = useAppStore().newChatSettings;
  const newChatSettings = useCell(newChatCell);
  const chatSettings = useCellSelector(chat?.state ?? loadingCell, (state) =>
    state.status === "ready" ? state.chat.settings : emptySettings,
  );
  if (chat === undefined)
    return { settings: newChatSettings, change: (patch) => newChatCell.change(patch) };
  return {
    settings: chatSettings,
    change: (patch) => void chat.change({ type: "settings", patch }),
  };
}

export function useIsChatDeleted(chat: OpenChat | undefined): boolean {
  return useCellSelector(
    chat?.state ?? loadingCell,
    (state) => state.status === "ready" && state.deletedAt !== undefined,
  );
}

/** Returns the name of the model or agent of a running task. */
export function useRunningResponder(
  chat: OpenChat | undefined,
  taskId: string | undefined,
): string | undefined {
  return useCellSelector(chat?.state ?? loadingCell, (state) =>
    state.status === "ready" && taskId !== undefined
      ? findRunningResponder(state.chat, taskId)
      : undefined,
  );
}
