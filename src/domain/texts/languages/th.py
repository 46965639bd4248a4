"""Thai."""

from typing import Final

from domain.texts.phrases import Phrases, Text

PHRASES: Final = Phrases(
    failed=Text(
        "ชำระเงินไม่สำเร็จ",
        "รายการชำระเงิน {amount} ไม่สำเร็จ ระบบคืนเงินจำนวนนี้ให้คุณแล้ว",
    ),
    completed=Text("ชำระเงินสำเร็จ", "รายการชำระเงิน {amount} ของคุณสำเร็จแล้ว"),
    invoice_paid=Text("ชำระใบแจ้งหนี้สำเร็จ", "คุณชำระใบแจ้งหนี้ {amount} เรียบร้อยแล้ว"),
    invoice_settled=Text("ได้รับชำระเงินแล้ว", "ใบแจ้งหนี้ {amount} ของคุณได้รับการชำระแล้ว"),
    money_sent=Text("โอนเงินสำเร็จ", "คุณโอนเงิน {amount} เรียบร้อยแล้ว"),
    money_received=Text("ได้รับเงินโอน", "มีเงินโอนเข้าบัญชีของคุณ {amount}"),
)
