import type { StoredChat, EditRejectionCode } from "@deltawire/tasks/chats";

export type ChatErrorCode =
  | EditRejectionCode
  | "chat_not_found"
  /** The chat has changed since the revision in the request. */
  | "conflict"
  /** The message cannot be sent, for example because the model needs an image or no model is selected. */
  | "cannot_send"
  | "removal_not_found"
  | "invalid_import";

/** A chat could not be changed, or a message could not be sent. Nothing was stored. */
export class ChatError extends Error {
  readonly code: ChatErrorCode;
  /** For `conflict`: the current chat. */
  readonly current: StoredChat | undefined;
  readonly param: string | undefined;

  constructor(
    code: ChatErrorCode,
    message: string,
    { current, param }: { current?: StoredChat; param?: string } = {},
  ) {
    super(message);
    this.name = "ChatError";
    this.code = code;
    this.current = current;
    this.param = param;
  }
}
