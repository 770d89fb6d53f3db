/** What an access key may be used for. */
export const accessScopes = ["models", "tasks", "chats", "admin"] as const;

export type AccessScope = (typeof accessScopes)[number];

/** The scopes of a key that is created without any. */
export const defaultAccessScopes: readonly AccessScope[] = ["models", "tasks", "chats"];
