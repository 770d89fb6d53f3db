/** An item of a conversation. */
export interface ConversationItem {
  readonly itemId: string;
  readonly json: string;
}

export interface StoredConversation {
  readonly conversationId: string;
  readonly owner: string;
  /** In milliseconds. */
  readonly createdAt: number;
  /** A JSON object. */
  readonly metadata: string;
}

export interface ListItemsOptions {
  /** Only items after this one in the order of the list. */
  readonly after?: string | undefined;
  readonly limit: number;
  readonly order: "asc" | "desc";
}

/** Stores conversations with their items. All methods see only the conversations of the given owner. */
export interface ConversationStore {
  createConversation(
    conversation: StoredConversation,
    items: readonly ConversationItem[],
  ): Promise<void>;
  getConversation(owner: string, conversationId: string): Promise<StoredConversation | undefined>;
  /** Returns false if there is no such conversation. */
  updateConversation(owner: string, conversationId: string, metadata: string): Promise<boolean>;
  /** Deletes a conversation with its items. Returns false if there is none. */
  deleteConversation(owner: string, conversationId: string): Promise<boolean>;
  /** Appends items; one with the id of an existing item replaces it in its place. Returns false if there is no such conversation. */
  addConversationItems(
    owner: string,
    conversationId: string,
    items: readonly ConversationItem[],
  ): Promise<boolean>;
  /** Returns a page of items. Undefined if `after` is not an item of the conversation. */
  listConversationItems(
    owner: string,
    conversationId: string,
    page: ListItemsOptions,
  ): Promise<ConversationItem[] | undefined>;
  /**
   * Returns all items in their order, and the position of the next one. `before`: only items before this position. Undefined if there
   * is no such conversation.
   */
  readConversation(
    owner: string,
    conversationId: string,
    before?: number,
  ): Promise<{ items: ConversationItem[]; next: number } | undefined>;
  getConversationItem(
    owner: string,
    conversationId: string,
    itemId: string,
  ): Promise<ConversationItem | undefined>;
  /** Returns false if there is no such item. */
  deleteConversationItem(owner: string, conversationId: string, itemId: string): Promise<boolean>;
}
