import { useState, type KeyboardEvent } from "react";
import { IconButton } from "../parts/button.tsx";
import { Input } from "../parts/field.tsx";
import type { OpenChat } from "../state/page.ts";
import { useWords } from "../words/use-words.ts";
import { chatWords } from "./words.ts";

interface ChatTitleProps {
  chat: OpenChat;
  /** Its title, or what it is called until it has one; empty: nothing. */
  name: string;
  isEditing: boolean;
  onEdit: (isEditing: boolean) => void;
}

export function ChatTitle({ chat, name, isEditing, onEdit }: ChatTitleProps) {
  const words = useWords(chatWords);
  if (isEditing) return <TitleField chat={chat} name={name} onDone={() => onEdit(false)} />;
  return (
    <div className="chat-title">
      <h1 dir="auto" title={name}>
        {name === "" ? words.untitled : name}
      </h1>
      <IconButton icon="edit" small label={words.rename} onClick={() => onEdit(true)} />
    </div>
  );
}

interface TitleFieldProps {
  chat: OpenChat;
  name: string;
  onDone: () => void;
}

function TitleField({ chat, name, onDone }: TitleFieldProps) {
  const words = useWords(chatWords);
  const [first] = useState(name);
  const [text, setText] = useState(first);
  const save = () => {
    const named = text.trim();
    if (named !== "" && named !== first) void chat.change({ type: "rename", title: named });
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
