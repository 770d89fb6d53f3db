/** The channels of the message bus. */
export const busChannels = {
  /** A command was sent to the process that runs the root task with this id. */
  commands: "commands",
  /** The command with this id was answered. */
  answers: "answers",
  /** The pending approvals of a task have changed. */
  approvals: "approvals",
  /** Chats have changed. */
  chats: "chats",
  /** The stored events of a root task. */
  task: (rootTaskId: string): string => `task:${rootTaskId}`,
} as const;
