"""What tests do on the phone page: click, read its texts, take its picture, frame and map."""

from __future__ import annotations

import base64

import cv2
import numpy as np

from support.chromium import Tab

ANSWER = "document.getElementById('picture').answer"
PATIENCE = 180.0

FRAME_AND_MAP = """(() => {
  const { image, maps } = document.getElementById("picture").answer;
  const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const text = (bytes) => {
    let all = "";
    for (const byte of bytes) all += String.fromCharCode(byte);
    return btoa(all);
  };
  const [[name, map]] = Object.entries(maps);
  return { width: image.width, height: image.height, name,
    frame: text(context.getImageData(0, 0, image.width, image.height).data),
    map: text(new Uint8Array(map.data.buffer, map.data.byteOffset, map.data.byteLength)) };
})()"""

PIXELS = """(() => {
  const canvas = document.getElementById("picture");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let all = "";
  for (let i = 0; i < data.length; i += 4) all += String.fromCharCode(data[i], data[i + 1], data[i + 2]);
  return { width: canvas.width, height: canvas.height, data: btoa(all) };
})()"""

DROP_BLUE = """(async () => {
  const canvas = new OffscreenCanvas(300, 200), context = canvas.getContext("2d");
  context.fillStyle = "rgb(0, 0, 255)";
  context.fillRect(0, 0, 300, 200);
  const transfer = new DataTransfer();
  transfer.items.add(new File([await canvas.convertToBlob()], "blue.png", { type: "image/png" }));
  document.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, cancelable: true }));
})()"""


def click(tab: Tab, name: str) -> None:
    tab.evaluate(f"document.querySelector({name!r}).click()")


def text(tab: Tab, name: str) -> str:
    return str(tab.evaluate(f"document.getElementById({name!r}).innerText"))


def shown(tab: Tab) -> np.ndarray:
    """The picture on the page, RGB."""
    pixels = tab.evaluate(PIXELS)
    data = np.frombuffer(base64.b64decode(pixels["data"]), np.uint8)
    return data.reshape(pixels["height"], pixels["width"], 3).astype(int)


def explained(tab: Tab) -> tuple[np.ndarray, str, np.ndarray]:
    """The frame (BGR), the name of its map, and the map."""
    found = tab.evaluate(FRAME_AND_MAP)
    frame = np.frombuffer(base64.b64decode(found["frame"]), np.uint8)
    frame = frame.reshape(found["height"], found["width"], 4)
    kind = np.uint8 if found["name"] == "saliency_lovi" else np.float32
    return (
        cv2.cvtColor(frame, cv2.COLOR_RGBA2BGR),
        found["name"],
        np.frombuffer(base64.b64decode(found["map"]), kind),
    )


def again(tab: Tab, what: str) -> None:
    """Do something that makes the page explain its picture again, and wait for the result."""
    tab.evaluate(f"{ANSWER}.seen = true")
    tab.evaluate(what)
    tab.wait(f"!{ANSWER}.seen", PATIENCE)
