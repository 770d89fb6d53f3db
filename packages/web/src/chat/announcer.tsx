import { useState } from "react";
import type { ChatNode } from "@deltawire/tasks/chats";
import { useWords } from "../words/use-words.ts";
import { heardAtEnd, toBeSaid, type Heard } from "./spoken.ts";
import { chatWords } from "./words.ts";

/** Says what becomes of the answer, and not every word of it. */
export function Announcer({ path }: { path: readonly ChatNode[] }) {
  const words = useWords(chatWords);
  const now = heardAtEnd(path);
  const [last, setLast] = useState<{ heard: Heard | undefined; said: Heard | undefined }>({
    heard: now,
    said: undefined,
  });
  if (last.heard?.versionId !== now?.versionId || last.heard?.says !== now?.says)
    setLast({ heard: now, said: toBeSaid(last.heard, now) });
  const { said } = last;
  return (
    <div role="status" className="for-readers">
      {said !== undefined && words[said.says]}
      {said?.message !== undefined && `: ${said.message}`}
    </div>
  );
}
