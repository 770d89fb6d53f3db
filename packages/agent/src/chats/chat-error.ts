import type { KeptChat, RefusalCode } from "@deltawire/tasks/chats";

export type ChatErrorCode =
  | RefusalCode
  | "unknown_chat"
  /** Somebody else has changed it meanwhile. */
  | "conflict"
  /** What is asked for cannot be sent as it is: a model that needs a picture, no model at all. */
  | "cannot_send"
  | "unknown_removal"
  | "bad_import";

/** A chat could not be changed or sent, and nothing of it was. */
export class ChatError extends Error {
  readonly code: ChatErrorCode;
  /** Of a conflict: the chat as it is now. */
  readonly current: KeptChat | undefined;
  readonly param: string | undefined;

  constructor(
    code: ChatErrorCode,
    message: string,
    { current, param }: { current?: KeptChat; param?: string } = {},
  ) {
    super(message);
    this.name = "ChatError";
    this.code = code;
    this.current = current;
    this.param = param;
  }
}
