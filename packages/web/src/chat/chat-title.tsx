import { useState, type KeyboardEvent } from "react";
import { IconButton } from "../parts/button.tsx";
import { Input } from "../parts/field.tsx";
import type { OpenChat } from "../state/page.ts";
import { useWords } from "../words/words.ts";
import { chatWords } from "./words.ts";

interface ChatTitleProps {
  chat: OpenChat;
  title: string;
  isEditing: boolean;
  onEdit: (isEditing: boolean) => void;
}

export function ChatTitle({ chat, title, isEditing, onEdit }: ChatTitleProps) {
  const words = useWords(chatWords);
  if (isEditing) return <TitleField chat={chat} title={title} onDone={() => onEdit(false)} />;
  return (
    <div className="chat-title">
      <h1 dir="auto" title={title}>
        {title === "" ? words.untitled : title}
      </h1>
      <IconButton icon="edit" small label={words.rename} onClick={() => onEdit(true)} />
    </div>
  );
}

function TitleField({
  chat,
  title,
  onDone,
}: {
  chat: OpenChat;
  title: string;
  onDone: () => void;
}) {
  const words = useWords(chatWords);
  const [text, setText] = useState(title);
  const save = () => {
    const named = text.trim();
    if (named !== "" && named !== title) void chat.change({ type: "rename", title: named });
    onDone();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter") save();
    else if (event.key === "Escape") onDone();
  };
  return (
    <Input
      className="chat-title-field"
      aria-label={words.chatTitle}
      // Somebody has just asked to write here.
      // oxlint-disable-next-line jsx-a11y/no-autofocus
      autoFocus
      dir="auto"
      maxLength={200}
      value={text}
      onFocus={({ currentTarget }) => currentTarget.select()}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
      onKeyDown={onKeyDown}
      onBlur={save}
    />
  );
}
